"""What a site has set up in AiiDA for a node: the computer, and the shell that its jobs are run with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from aiida import orm
from aiida.common.exceptions import NotExistent
from aiida.manage import get_manager

from tenure.agent.aiida import codes
from tenure.agent.aiida.settings import AiidaSettings
from tenure.agent.errors import InvalidSettings

_SHELL = "tenure-shell"
#: How a computer with each scheduler may be reached. Slurm is asked from here whatever the way to it; the other is this machine.
_TRANSPORTS = {codes.SLURM: ("core.local", "core.ssh"), codes.DIRECT: ("core.local",)}


@dataclass(frozen=True, slots=True)
class AiidaSite:
    """A computer that can be used, and its shell."""

    shell_pk: int
    on_slurm: bool

    @classmethod
    def of(cls, settings: AiidaSettings) -> Self:
        """Look at the profile and the computer. Raises InvalidSettings with what to do."""
        profile = get_manager().get_profile()
        if profile is None or profile.process_control_backend is None:
            raise InvalidSettings(
                "The profile of AiiDA has no broker, so that nothing can be handed to its daemon.",
                "Give it the one that needs no service: verdi profile configure-broker core.zeromq",
            )
        label = settings.computer
        try:
            computer = orm.load_computer(label)
        except NotExistent:
            raise InvalidSettings(
                f"AiiDA has no computer {label!r} in the profile {profile.name}.",
                f"Make it: verdi computer setup --label {label} --transport core.local --scheduler {codes.SLURM} ...",
            ) from None
        if computer.scheduler_type not in _TRANSPORTS:
            raise InvalidSettings(
                f"The computer {label} has the scheduler {computer.scheduler_type}, which may submit a job twice.",
                f"Duplicate it with {codes.SLURM} or {codes.DIRECT}: verdi computer duplicate {label}",
            )
        if computer.transport_type not in _TRANSPORTS[computer.scheduler_type]:
            raise InvalidSettings(
                f"The computer {label} has the scheduler {computer.scheduler_type} and the transport"
                f" {computer.transport_type}, which nobody has tried together.",
                f"With this scheduler take {' or '.join(_TRANSPORTS[computer.scheduler_type])}: verdi computer duplicate {label}",
            )
        if not computer.is_configured:
            raise InvalidSettings(
                f"The computer {label} is not configured.",
                f"Configure it: verdi computer configure {computer.transport_type} {label}",
            )
        return cls(int(_shell(computer).pk or 0), computer.scheduler_type == codes.SLURM)

    @property
    def shell(self) -> orm.InstalledCode:
        """Loaded anew each time: what was loaded before is of no use once a question to AiiDA's database has failed."""
        return orm.load_node(self.shell_pk)


def _shell(computer: orm.Computer) -> orm.InstalledCode:
    try:
        found = orm.load_code(f"{_SHELL}@{computer.label}")
    except NotExistent:
        found = orm.InstalledCode(
            label=_SHELL, computer=computer, filepath_executable="/bin/bash", default_calc_job_plugin=codes.CALCULATION,
            description="Runs the executions that Tenure submits.",
        ).store()  # fmt: skip
    if not isinstance(found, orm.InstalledCode):
        raise InvalidSettings(f"The code {found.full_label} is not an installed one.", "Rename or delete it.")
    return found
