"""What a client can do with workflows and runs, written once as operations (design 02, API)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from tenure.engine.caller import Caller
from tenure.flow.engine import asking, overview, reading, recovering, schedules, starting, ticking, workflows
from tenure.flow.engine import timeline as timelines
from tenure.flow.engine.beginning import Start
from tenure.flow.engine.recovering import Recovery
from tenure.flow.engine.registering import register
from tenure.flow.engine.results import RunResult
from tenure.flow.engine.starting import Started
from tenure.flow.model.builder import Workflow
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.mermaid import mermaid
from tenure.flow.model.requests import CancelRun, MigrateRun, PauseRun, ReplayRun, ResolveStep, ResumeRun, RetryRun
from tenure.flow.model.schedule import ScheduleSpec
from tenure.flow.model.state import RunState, RunStatus
from tenure.flow.model.svg import svg
from tenure.flow.port import RunFilter
from tenure.flow.rows import RunnableRow, RunRow, ScheduleRow, WorkflowRow
from tenure.model.errors import InvalidRequest
from tenure.model.requests import validated
from tenure.model.visibility import Reason
from tenure.sdk.references import SubjectRef, subject_uid, uid_of
from tenure.store.operation import Op

RunRef = int | str | RunResult | RunRow


def run_uid(reference: RunRef) -> int:
    """The uid of the run meant; ``InvalidEuid`` for what cannot be one."""
    if isinstance(reference, RunResult):
        return reference.run
    return reference.uid if isinstance(reference, RunRow) else uid_of(reference)


def define_workflow(
    caller: Caller, /, definition: WorkflowDefinition | Workflow | Mapping[str, Any]
) -> Op[WorkflowRow]:
    """Register one version of a workflow; the same one again changes nothing."""
    plain = definition.as_data() if isinstance(definition, Workflow) else definition
    return register(caller, plain)


def retire_workflow(caller: Caller, /, name: str, version: int, *, reason: str | None = None) -> Op[WorkflowRow]:
    """Take a version out of use; runs that go by it go on."""
    return workflows.retire_workflow(caller, name, version, reason=reason)


def workflow_row(caller: Caller, /, name: str, version: int | None = None) -> Op[WorkflowRow]:
    """One version of a workflow, the newest in use where none is named."""
    return workflows.workflow(caller, name, version)


def workflows_all(caller: Caller, /) -> Op[list[WorkflowRow]]:
    """All versions of all workflows, by name and version."""
    return workflows.workflows(caller)


def start_run(
    caller: Caller, /, workflow: str, input: Any = None, *, key: str | None = None, version: int | None = None,  # noqa: A002
    root: SubjectRef | None = None, correlation_id: str | None = None,
) -> Op[RunResult]:  # fmt: skip
    """Start a run. The same ``key`` is the same run; with another input or definition it is ``RunKeyConflict``.

    ``root`` is the subject that the run is about: every unit of its work is linked to it.
    """
    return starting.start(caller, _start(workflow, input, key, version, root, correlation_id))


def start_runs(caller: Caller, /, runs: Iterable[Mapping[str, Any]]) -> Op[list[Started]]:
    """Start many in one transaction, each given as the arguments of ``start_run``; a result or an error for each."""
    return starting.start_many(
        caller,
        [
            _start(
                run["workflow"], run.get("input"), run.get("key"), run.get("version"), run.get("root"),
                run.get("correlation_id"),
            )
            for run in runs
        ],
    )  # fmt: skip


def _start(
    workflow: str, value: Any, key: str | None, version: int | None, root: SubjectRef | None, correlation_id: str | None
) -> Start:
    if key is not None and not 0 < len(key) <= 500:
        raise InvalidRequest("A run key has 1 to 500 characters.", "Give a shorter one.")
    return Start(
        workflow, value if value is not None else {}, key, version, subject_uid(root) if root is not None else None,
        correlation_id=correlation_id,
    )  # fmt: skip


def signal_run(
    caller: Caller, /, run: RunRef, name: str, payload: Any = None, *, idempotency_key: str | None = None,
    expected_seq: int | None = None,
) -> Op[RunResult]:  # fmt: skip
    """Send a signal to a run; it waits until a step takes it."""
    return asking.signal(
        caller, run_uid(run), name, payload, idempotency_key=idempotency_key, expected_seq=expected_seq
    )


def signal_job(
    caller: Caller, /, subject: SubjectRef, name: str, payload: Any = None, *, idempotency_key: str | None = None
) -> Op[RunResult]:
    """Send a signal to the code of a job (``wait_event``): to the run that it is a step of, or that it becomes by this."""
    return asking.signal_subject(caller, subject_uid(subject), name, payload, idempotency_key=idempotency_key)


def cancel_run(caller: Caller, /, run: RunRef, *, reason: str | None = None, **guards: Any) -> Op[RunResult]:
    """Stop a run and its children; what was done is undone where it can be."""
    return asking.cancel(caller, run_uid(run), validated(CancelRun, reason=reason, **guards))


def pause_run(caller: Caller, /, run: RunRef, *, reason: str | None = None, **guards: Any) -> Op[RunResult]:
    """Plan nothing more until the run is resumed; what is under way goes on."""
    return asking.pause(caller, run_uid(run), validated(PauseRun, reason=reason, **guards))


def resume_run(
    caller: Caller, /, run: RunRef, *, step: str | None = None, reason: str | None = None, **guards: Any
) -> Op[RunResult]:
    """Let a paused run, or the pause step at which it stands, go on."""
    return asking.resume(caller, run_uid(run), validated(ResumeRun, step=step, reason=reason, **guards))


def approve(
    caller: Caller, /, run: RunRef, *, step: str | None = None, comment: str | None = None, **guards: Any
) -> Op[RunResult]:
    """Approve at the boundary where the run stands. The same ``idempotency_key`` again is a no-op."""
    request = validated(ResolveStep, decision="approved", step=step, comment=comment, **guards)
    return asking.resolve(caller, run_uid(run), request)


def reject(
    caller: Caller, /, run: RunRef, *, step: str | None = None, comment: str | None = None, **guards: Any
) -> Op[RunResult]:
    """Reject at the boundary where the run stands."""
    request = validated(ResolveStep, decision="rejected", step=step, comment=comment, **guards)
    return asking.resolve(caller, run_uid(run), request)


def replay_run(
    caller: Caller, /, run: RunRef, *, version: int | None = None, key: str | None = None, force: bool = False,
    reason: str | None = None,
) -> Op[RunResult]:  # fmt: skip
    """A new run from the input of another; ``UnsafeReplay`` where irreversible work would be done again, unless forced."""
    return starting.replay(caller, run_uid(run), validated(ReplayRun, key=key, force=force, reason=reason), version)


def retry_run(
    caller: Caller, /, run: RunRef, *, from_step: str | None = None, key: str | None = None, force: bool = False,
    reason: str | None = None,
) -> Op[RunResult]:  # fmt: skip
    """A new run that keeps what another did before the step that failed, or before ``from_step``."""
    request = validated(RetryRun, key=key, force=force, reason=reason, from_step=from_step)
    return starting.retry(caller, run_uid(run), request)


def migrate_run(
    caller: Caller, /, run: RunRef, version: int, *, reason: str | None = None, **guards: Any
) -> Op[RunResult]:
    """Let a paused run go on under another version of its workflow."""
    return asking.migrate(caller, run_uid(run), version, validated(MigrateRun, reason=reason, **guards))


def inspect_run(caller: Caller, /, run: RunRef, *, items: int | None = None) -> Op[reading.RunSnapshot]:
    """A run as it stands: its steps and the subjects that stand for them, boundaries, children, anomalies.

    Of each map all items, or so many ``items``, what is in trouble first; as many child runs.
    """
    return reading.inspect(caller, run_uid(run), items)


def runs(
    caller: Caller, /, workflow: str | None = None, *, status: str | None = None, key: str | None = None,
    root: SubjectRef | None = None, since: datetime | None = None, until: datetime | None = None, limit: int = 50,
    before: RunRef | None = None, waiting: bool = False,
) -> Op[list[RunRow]]:  # fmt: skip
    """Runs, the newest first. ``before`` is the last of the page before; ``waiting`` leaves those at a manual boundary."""
    about = subject_uid(root) if root is not None else None
    if waiting and status is None:
        status = str(RunStatus.PAUSED)  # all of them are, and there is an index on it
    chosen = RunFilter(workflow, status, key, about, since, until, waiting)
    return reading.list_runs(caller, chosen, limit, run_uid(before) if before is not None else None)


def overview_run(
    caller: Caller, /, run: RunRef, most: int = 200, pages: overview.RunPages | None = None
) -> Op[overview.RunOverview]:
    """Snapshot, reasons, graph and timeline of a run, read together; of long lists at most so many, of the pages asked for."""
    return overview.overview(caller, run_uid(run), most, pages if pages is not None else overview.RunPages())


def runnable_of(caller: Caller, /, subject: SubjectRef) -> Op[RunnableRow | None]:
    """The runnable of a run that a subject stands for; None where it is no part of a run."""
    return reading.runnable_of(caller, subject_uid(subject))


def explain_run(caller: Caller, /, run: RunRef) -> Op[list[Reason]]:
    """Every reason for which a run waits or stands, with evidence and what can be done."""
    return reading.explain(caller, run_uid(run))


def run_graph(caller: Caller, /, run: RunRef) -> Op[dict[str, Any]]:
    """A run as nodes and edges with their states, as JSON-ready data; ``drawn`` makes a picture of it."""
    return reading.graph(caller, run_uid(run))


def workflow_graph(caller: Caller, /, name: str, version: int | None = None) -> Op[dict[str, Any]]:
    """A definition as nodes and edges."""
    return reading.workflow_graph(caller, name, version)


def drawn(graph: Mapping[str, Any], form: str = "mermaid") -> str:
    """A graph as Mermaid text or as an SVG picture."""
    if form not in _DRAWN:
        raise InvalidRequest(f"A graph is drawn as {' or '.join(_DRAWN)}, not {form!r}.", "Name one of them.")
    return _DRAWN[form](graph)


_DRAWN = {"mermaid": mermaid, "svg": svg}


def run_timeline(
    caller: Caller, /, run: RunRef, *, after_seq: int = 0, limit: int | None = None
) -> Op[list[timelines.Moment]]:
    """What happened to a run, fact by fact, in sentences."""
    return timelines.timeline(caller, run_uid(run), after_seq=after_seq, limit=limit)


def run_as_of(caller: Caller, /, run: RunRef, *, seq: int | None = None, at: datetime | None = None) -> Op[RunState]:
    """The fold of a run as it was after fact ``seq``, or at a time."""
    return reading.as_of(caller, run_uid(run), seq=seq, at=at)


def recover_runs(caller: Caller, /, run: RunRef | None = None) -> Op[Recovery]:
    """Repair whatever should have followed in one run, or in all, and did not; on PostgreSQL there is nothing to repair."""
    return recovering.recover(caller, run_uid(run) if run is not None else None)


def define_schedule(caller: Caller, /, name: str, **spec: Any) -> Op[ScheduleRow]:
    """Define or change a schedule; the fields are those of ``tenure.flow.model.schedule.ScheduleSpec``."""
    return schedules.define_schedule(caller, validated(ScheduleSpec, name=name, **spec))


def schedules_all(caller: Caller, /) -> Op[list[ScheduleRow]]:
    """All schedules, by name."""
    return schedules.schedules(caller)


def pause_schedule(caller: Caller, /, name: str, *, reason: str | None = None) -> Op[ScheduleRow]:
    """Let a schedule rest."""
    return schedules.set_enabled(caller, name, False, reason)


def resume_schedule(caller: Caller, /, name: str, *, reason: str | None = None) -> Op[ScheduleRow]:
    """Let a schedule go on from now; what fell due while it rested is not made good."""
    return schedules.set_enabled(caller, name, True, reason)


def tick_runs(caller: Caller, /, limit: int = 100) -> Op[int]:
    """Let runs go on of which something has fallen due; workers do this by themselves."""
    return ticking.tick(caller, limit)
