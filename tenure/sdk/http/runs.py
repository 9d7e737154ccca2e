"""What a client can do with workflows and runs over HTTP, with the arguments that it has with a database (design 02, API)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from tenure.flow.engine.reading import RunSnapshot
from tenure.flow.engine.results import RunResult
from tenure.flow.engine.timeline import Moment
from tenure.flow.model.builder import Workflow
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.state import RunState
from tenure.flow.rows import RunRow, WorkflowRow
from tenure.model import euid
from tenure.model.errors import NaiveDatetime
from tenure.model.json_text import instant
from tenure.model.visibility import Reason
from tenure.sdk.http import run_answers
from tenure.sdk.http.call import Call
from tenure.sdk.references import SubjectRef, subject_uid
from tenure.sdk.runs import RunRef, run_uid

T = TypeVar("T")
#: So many at most are in one answer.
MOST = 500


def define_workflow(definition: WorkflowDefinition | Workflow | Mapping[str, Any]) -> Call[WorkflowRow]:
    """Register one version of a workflow; the same one again changes nothing."""
    plain = definition.canonical() if isinstance(definition, WorkflowDefinition) else definition
    plain = plain.as_data() if isinstance(plain, Workflow) else plain
    return _post("/actions/define-workflow", run_answers.workflow, {"definition": dict(plain)})


def start_run(
    workflow: str, input: Any = None, *, key: str | None = None, version: int | None = None,  # noqa: A002
    root: SubjectRef | None = None, correlation_id: str | None = None,
) -> Call[RunResult]:  # fmt: skip
    """Start a run. Without a key it gets one, so that it may be sent again."""
    about = euid.format_euid(euid.SUBJECT, subject_uid(root)) if root is not None else None
    body = {
        "workflow": workflow, "input": input if input is not None else {}, "key": key, "version": version,
        "root_euid": about, "correlation_id": correlation_id,
    }  # fmt: skip
    return _post("/runs", run_answers.result, body, key)


def signal_run(run: RunRef, name: str, payload: Any = None, **guards: Any) -> Call[RunResult]:
    """Send a signal to a run; it waits until a step takes it."""
    return _act("signal-run", run, {"name": name, "payload": payload}, guards)


def signal_job(
    subject: SubjectRef, name: str, payload: Any = None, *, idempotency_key: str | None = None
) -> Call[RunResult]:
    """Send a signal to the code of a job."""
    about = euid.format_euid(euid.SUBJECT, subject_uid(subject))
    key = idempotency_key or secrets.token_urlsafe(16)
    body = {"subject_euid": about, "name": name, "payload": payload, "idempotency_key": key}
    return Call("POST", "/actions/signal-subject", run_answers.result, _given(body), key)


def cancel_run(run: RunRef, *, reason: str | None = None, **guards: Any) -> Call[RunResult]:
    """Stop a run and its children; what was done is undone where it can be."""
    return _act("cancel-run", run, {"reason": reason}, guards)


def pause_run(run: RunRef, *, reason: str | None = None, **guards: Any) -> Call[RunResult]:
    """Plan nothing more until the run is resumed; what is under way goes on."""
    return _act("pause-run", run, {"reason": reason}, guards)


def resume_run(run: RunRef, *, step: str | None = None, reason: str | None = None, **guards: Any) -> Call[RunResult]:
    """Let a paused run, or the pause step at which it stands, go on."""
    return _act("resume-run", run, {"step": step, "reason": reason}, guards)


def approve(run: RunRef, *, step: str | None = None, comment: str | None = None, **guards: Any) -> Call[RunResult]:
    """Approve at the boundary where the run stands."""
    return _act("approve-run", run, {"step": step, "comment": comment}, guards)


def reject(run: RunRef, *, step: str | None = None, comment: str | None = None, **guards: Any) -> Call[RunResult]:
    """Reject at the boundary where the run stands."""
    return _act("reject-run", run, {"step": step, "comment": comment}, guards)


def replay_run(
    run: RunRef, *, version: int | None = None, key: str | None = None, force: bool = False, reason: str | None = None
) -> Call[RunResult]:
    """A new run from the input of another."""
    return _again("replay-run", run, {"version": version, "force": force or None, "reason": reason}, key)


def retry_run(
    run: RunRef, *, from_step: str | None = None, key: str | None = None, force: bool = False,
    reason: str | None = None,
) -> Call[RunResult]:  # fmt: skip
    """A new run that keeps what another did before the step that failed, or before ``from_step``."""
    return _again("retry-run", run, {"from_step": from_step, "force": force or None, "reason": reason}, key)


def migrate_run(run: RunRef, version: int, *, reason: str | None = None, **guards: Any) -> Call[RunResult]:
    """Let a paused run go on under another version of its workflow."""
    return _act("migrate-run", run, {"version": version, "reason": reason}, guards)


def inspect_run(run: RunRef, *, items: int | None = None) -> Call[RunSnapshot]:
    """A run as it stands: its steps and the subjects that stand for them, boundaries, children, anomalies."""
    return _get(run, "", run_answers.snapshot, {"items": items})


def explain_run(run: RunRef) -> Call[list[Reason]]:
    """Every reason for which a run waits or stands, with evidence and what can be done."""
    return _get(run, "/why", run_answers.reasons)


def run_graph(run: RunRef) -> Call[dict[str, Any]]:
    """A run as nodes and edges with their states."""
    return _get(run, "/graph", dict)


def run_timeline(run: RunRef, *, after_seq: int = 0, limit: int | None = None) -> Call[list[Moment]]:
    """What happened to a run, fact by fact; at most 500 of them, the next ones ``after_seq``."""
    params = {"limit": min(limit or MOST, MOST), "after_seq": after_seq}
    return _get(run, "/timeline", run_answers.moments, params)


def run_as_of(run: RunRef, *, seq: int | None = None, at: datetime | None = None) -> Call[RunState]:
    """The fold of a run as it was after fact ``seq``, or at a time."""
    return _get(run, "/as-of", run_answers.as_of, {"seq": seq, "at": _told(at)})


def runs(
    workflow: str | None = None, *, status: str | None = None, key: str | None = None, root: SubjectRef | None = None,
    since: datetime | None = None, until: datetime | None = None, limit: int = 50, before: RunRef | None = None,
    waiting: bool = False,
) -> Call[list[RunRow]]:  # fmt: skip
    """Runs, the newest first. ``before`` is the last of the page before; ``waiting`` leaves those at a manual boundary."""
    params = {
        "workflow": workflow, "status": status, "key": key, "since": _told(since), "until": _told(until), "limit": limit,
        "root": euid.format_euid(euid.SUBJECT, subject_uid(root)) if root is not None else None,
        "before": _named(before) if before is not None else None, "waiting": "true" if waiting else None,
    }  # fmt: skip
    return Call("GET", "/runs", run_answers.rows, params=_given(params))


def _act(action: str, run: RunRef, said: Mapping[str, Any], guards: Mapping[str, Any]) -> Call[RunResult]:
    key = guards.get("idempotency_key") or secrets.token_urlsafe(16)
    body = {"run_euid": _named(run), **said, **guards, "idempotency_key": key}
    return Call("POST", f"/actions/{action}", run_answers.result, _given(body), key)


def _again(action: str, run: RunRef, said: Mapping[str, Any], key: str | None) -> Call[RunResult]:
    return _post(f"/actions/{action}", run_answers.result, {"run_euid": _named(run), "key": key, **said}, key)


def _post(path: str, read: Callable[[Any], T], body: Mapping[str, Any], key: str | None = None) -> Call[T]:
    return Call("POST", path, read, _given(body), key or secrets.token_urlsafe(16))


def _get(run: RunRef, below: str, read: Callable[[Any], T], params: Mapping[str, Any] | None = None) -> Call[T]:
    return Call("GET", f"/runs/{_named(run)}{below}", read, params=_given(params or {}))


def _named(run: RunRef) -> str:
    return euid.format_euid(euid.RUN, run_uid(run))


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _told(at: datetime | None) -> str | None:
    if at is not None and at.tzinfo is None:
        raise NaiveDatetime("A time needs its zone.", "Give an aware datetime.")
    return instant(at) if at is not None else None


RUN_OPERATIONS: dict[str, Callable[..., Call[Any]]] = {
    make.__name__: make
    for make in (
        define_workflow, start_run, signal_run, signal_job, cancel_run, pause_run, resume_run, approve, reject, replay_run,
        retry_run, migrate_run, inspect_run, explain_run, run_graph, run_timeline, run_as_of, runs,
    )
}  # fmt: skip
