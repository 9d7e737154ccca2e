"""How an execution becomes a process of AiiDA, goes on after a crash or is made anew, and is killed."""

from __future__ import annotations

import logging
import shlex
import time
from typing import Any

from aiida import orm
from aiida.engine import submit as submit_process
from aiida.manage import get_manager
from plumpy import ProcessState
from plumpy.futures import unwrap_kiwi_future

from tenure.agent.aiida import codes
from tenure.agent.aiida.calculation import TenureExecution
from tenure.agent.aiida.site import AiidaSite
from tenure.agent.scheduler import JobSpec, Rejected
from tenure.agent.sentences import failure_with
from tenure.agent.slurm.refusals import REJECTED
from tenure.agent.slurm.settings import SlurmSettings

_log = logging.getLogger(__name__)
_AGAIN_SECONDS = 0.2


def submit(job: JobSpec, site: AiidaSite, slurm: SlurmSettings) -> str:
    """Make the process, hand it to the daemon, and return its uuid. Raises Rejected where AiiDA refuses the inputs."""
    builder: Any = TenureExecution.get_builder()
    builder.code = site.shell
    builder.script = orm.SinglefileData(str(job.script))
    builder.metadata.label = job.key
    builder.metadata.description = "Submitted by Tenure; the label is the execution's id."
    builder.metadata.options = _options(job, site, slurm)
    try:
        node = submit_process(builder)
    except ValueError as error:
        failure = failure_with(code=REJECTED, retryable=False, message=f"AiiDA refuses the job: {error}")
        raise Rejected(failure) from error
    node.base.extras.set(codes.SENT, True)
    return str(node.uuid)


def given_up(pk: int) -> bool:
    """Whether a process was stored, but not so far that a worker could take it up: then it can never go on, and nothing was
    submitted for it. It loses its label, and the execution gets another.
    """
    node = orm.load_node(pk)
    # In this order: one that a worker has brought to its end meanwhile has no checkpoint any more, either.
    if node.checkpoint is not None or node.process_state not in (None, ProcessState.CREATED):
        return False
    _log.warning("Process %s was left unfinished; the execution gets another", pk)
    node.label = f"unfinished {node.label}"
    return True


def resume(pk: int) -> None:
    """Hand a process to the daemon (again).

    A task that the daemon has already is thrown away by its worker, and a job is submitted once in any case.
    """
    get_manager().get_process_controller().continue_process(pk, nowait=False, no_reply=True)
    orm.load_node(pk).base.extras.set(codes.SENT, True)


def kill(pk: int, seconds: float) -> bool:
    """Ask the process to end itself and its job. False where it did not answer in time; then it is handed over anew."""
    controller = get_manager().get_process_controller()
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        try:
            asked = unwrap_kiwi_future(controller.kill_process(pk, msg_text="Cancelled in Tenure"))
            return asked.result(timeout=left) is True
        except Exception as error:
            _log.info("Process %s does not answer: %s: %s", pk, type(error).__name__, error)
        if orm.load_node(pk).is_terminated:
            return True
        time.sleep(_AGAIN_SECONDS)  # its worker may not have begun it yet
    controller.continue_process(pk, nowait=False, no_reply=True)
    return False


def _options(job: JobSpec, site: AiidaSite, slurm: SlurmSettings) -> dict[str, Any]:
    options: dict[str, Any] = {
        "execution_folder": str(job.folder),
        "execution_script": str(job.script),
        "environment_variables": dict(job.environment),
        "resources": {"num_machines": 1, "num_mpiprocs_per_machine": 1, "num_cores_per_mpiproc": job.resources.cpu},
        "queue_name": job.placement.partition,
        "account": job.placement.account,
        "qos": job.placement.qos,
    }
    if site.on_slurm:
        # The plugin adds the name and the comment, and sees to the environment.
        more = ("--kill-on-invalid-dep=yes", *slurm.options)
        options |= {
            "max_memory_kb": job.resources.memory_mib * 1024,
            # Slurm counts in minutes and rounds down what is below one.
            "max_wallclock_seconds": -(-job.resources.walltime_seconds // 60) * 60,
            "import_sys_environment": False,
            "rerunnable": slurm.requeue,
            "custom_scheduler_commands": "\n".join(f"#SBATCH {shlex.quote(each)}" for each in more),
        }
    else:
        options["limit_seconds"] = job.resources.walltime_seconds
    return {name: value for name, value in options.items() if value is not None}
