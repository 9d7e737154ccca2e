"""The folder and the script of an execution: what the scheduler runs (design 04, agent)."""

from __future__ import annotations

import shlex
from pathlib import Path

from tenure.agent.durable import folder_name, write_file
from tenure.agent.scheduler import JobSpec
from tenure.agent.sentences import failure_with
from tenure.agent.settings import AgentSettings, LimitSettings
from tenure.remote.model.contracts import Work
from tenure.remote.model.fields import Failure

SCRIPT, INPUT, RESULTS = "script", "input", "results"


def folder_of(settings: AgentSettings, execution_id: str) -> Path:
    """The working folder of an execution."""
    return settings.work_folder / folder_name(execution_id)


def environment_of(settings: AgentSettings, work: Work) -> dict[str, str]:
    """What a job finds in its environment: the site's variables, and which execution it is."""
    folder = folder_of(settings, work.execution_id)
    shape = work.resource_shape
    return {
        **settings.runner.environment,
        "TENURE_EXECUTION_ID": work.execution_id, "TENURE_SUBMISSION_ID": work.submission_id,
        "TENURE_JOB_ID": work.job_id, "TENURE_WORKSPACE_ID": work.workspace_id, "TENURE_TRACE_ID": work.trace_id,
        "TENURE_INPUT": str(folder / INPUT), "TENURE_RESULTS": str(folder / RESULTS),
        "TENURE_CPU": str(shape.cpu), "TENURE_MEMORY_MIB": str(shape.memory_mib),
    }  # fmt: skip


def write_script(settings: AgentSettings, work: Work) -> None:
    """Write the script into the folder, where the input lies already."""
    folder = folder_of(settings, work.execution_id)
    (folder / RESULTS).mkdir(exist_ok=True)
    lines = ["#!/bin/sh", f"cd {shlex.quote(str(folder))} || exit 1"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in environment_of(settings, work).items()]
    lines.append(settings.runner.command or _run_the_input(folder / INPUT))
    write_file(folder / SCRIPT, ("\n".join(lines) + "\n").encode(), mode=0o750)


def job_of(settings: AgentSettings, work: Work) -> JobSpec:
    """What the scheduler is given."""
    folder = folder_of(settings, work.execution_id)
    return JobSpec(
        key=work.execution_id, script=folder / SCRIPT, folder=folder, placement=work.placement,
        resources=work.resource_shape, environment=environment_of(settings, work),
    )  # fmt: skip


def too_much(limits: LimitSettings, work: Work) -> Failure | None:
    """Why this node does not take it: it asks for more than the node's own limits allow."""
    shape = work.resource_shape
    for name, asked, most in (
        ("cores", shape.cpu, limits.cpu),
        ("MiB of memory", shape.memory_mib, limits.memory_mib),
        ("seconds", shape.walltime_seconds, limits.walltime_seconds),
    ):
        if most is not None and asked > most:
            said = (
                f"It asks for {asked:,} {name}; this node allows {most:,} to one execution ([limits] in its settings)."
            )
            return failure_with(code="resources_rejected", message=said, retryable=False)
    return None


def _run_the_input(path: Path) -> str:
    """A script names its own interpreter, or is one of the shell."""
    with path.open("rb") as file:
        named = file.read(2) == b"#!"
    if named:
        path.chmod(0o750)
        return 'exec "$TENURE_INPUT"'
    return 'exec /bin/sh "$TENURE_INPUT"'
