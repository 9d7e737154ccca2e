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


@dataclass(frozen=True, slots=True)
class AiidaSite:
    """A computer that can be used, and its shell."""

    computer: orm.Computer
    shell: orm.InstalledCode
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
        if computer.transport_type != "core.local":
            raise InvalidSettings(
                f"The computer {label} is reached by {computer.transport_type}; the agent works where jobs are submitted.",
                "Run the agent on the management node, with a computer whose transport is core.local.",
            )
        if computer.scheduler_type not in (codes.SLURM, codes.DIRECT):
            raise InvalidSettings(
                f"The computer {label} has the scheduler {computer.scheduler_type}, which may submit a job twice.",
                f"Duplicate it with {codes.SLURM} or {codes.DIRECT}: verdi computer duplicate {label}",
            )
        if not computer.is_configured:
            raise InvalidSettings(
                f"The computer {label} is not configured.", f"Configure it: verdi computer configure core.local {label}"
            )
        return cls(computer, _shell(computer), computer.scheduler_type == codes.SLURM)


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
