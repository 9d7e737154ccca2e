"""Reading runs: inspect, list, timeline, as_of (design 02, API)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tenure.engine.caller import Caller
from tenure.engine.reading import why
from tenure.flow.engine.flow import flow_of
from tenure.flow.engine.moving import Moving, fold_runs
from tenure.flow.engine.starting import no_run
from tenure.flow.engine.workflows import workflow
from tenure.flow.journal import corrupt
from tenure.flow.model.choosing import shown, waited_for
from tenure.flow.model.explain import explain as reasons_of
from tenure.flow.model.fold import fold
from tenure.flow.model.graph import graph as graph_of
from tenure.flow.model.names import parse_runnable
from tenure.flow.model.state import Anomaly, Manual, Phase, Resolution, RunState
from tenure.flow.model.versions import not_served
from tenure.flow.port import RunFilter, Standing
from tenure.flow.rows import RunnableRow, RunRow
from tenure.model.errors import InvalidRequest, NotFound
from tenure.model.fact import Fact
from tenure.model.thread import SubjectThread
from tenure.model.visibility import Reason
from tenure.model.worker import Worker
from tenure.store.operation import Op

_PAGE = 1000
_MANY = 20


@dataclass(frozen=True, slots=True)
class StepView:
    """A step of a run as it stands, this time round, with the subjects and child runs that stand for it."""

    step: str
    performer: str
    iteration: int
    phase: str
    planned_at: datetime | None = None
    ended_at: datetime | None = None
    deadline: str | None = None
    until: str | None = None
    signal: str | None = None
    items: Mapping[str, int] | None = None
    error: Mapping[str, Any] | None = None
    routes: Sequence[int] = ()
    subjects: Sequence[SubjectView] = ()
    children: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class SubjectView:
    """A subject that stands for a runnable."""

    runnable: str
    subject: int
    state: str | None
    record: int | None = None
    attempt_count: int = 0
    error_class: str | None = None
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """A run as it stands: row, steps, manual boundary, children, what waits, what does not fit."""

    run: RunRow
    version: int
    steps: Sequence[StepView]
    active: Sequence[str]
    manual: Manual | None
    resolved: Resolution | None
    stop: Mapping[str, Any] | None
    end: Mapping[str, Any] | None
    paused: bool
    signals: Sequence[str]
    children: Sequence[RunRow] = ()
    parent: Mapping[str, Any] | None = None
    replay_of: int | None = None
    retry_of: int | None = None
    anomalies: Sequence[Anomaly] = field(default_factory=list)


def inspect(caller: Caller, run: int, items: int | None = None) -> Op[RunSnapshot]:
    """One run as it stands; of each map all items, or so many of them, what is in trouble first. ``RunUnknown``."""
    return (yield from inspect_read(caller, (yield from read(caller, run)), items))


def inspect_read(
    caller: Caller, moving: Moving, items: int | None = None, *, skip: Mapping[str, int] | None = None, after: int = 0
) -> Op[RunSnapshot]:
    """The same of a run that was read; with ``skip``, of a step so many items further on, and children ``after`` one."""
    flow, run = flow_of(caller), moving.row.uid
    if items is None:
        standings = yield from flow.storage.standings([run], everything=True)
    else:
        standings = yield from flow.storage.standings_of(run, shown(moving.state, items, skip))
    children = yield from flow.storage.children(caller.tenant, [run], items, after)
    return _snapshot(moving, standings, children)


def read(caller: Caller, run: int) -> Op[Moving]:
    """A run with its fold, without a lock; ``RunUnknown``, ``JournalCorrupt``."""
    flow = flow_of(caller)
    found = yield from fold_runs(flow, caller, [run])
    if run in found:
        return found[run]
    if (yield from flow.storage.runs(caller.tenant, [run])):
        yield from flow.storage.journal.load(run)
        raise corrupt(run, 0, "checkpoint", "Its checkpoint does not fit its facts.")
    raise no_run(run)


def list_runs(caller: Caller, chosen: RunFilter, limit: int = 50, before: int | None = None) -> Op[list[RunRow]]:
    """Runs, the newest first; the next page begins ``before`` the last uid of this one."""
    if not 0 < limit <= _PAGE:
        raise InvalidRequest(f"A page has 1 to {_PAGE} runs.", "Give a limit within that.")
    return (yield from flow_of(caller).storage.list_runs(caller.tenant, chosen, limit, before))


def runnable_of(caller: Caller, subject: int) -> Op[RunnableRow | None]:
    """What a subject stands for in a run; None where it is no part of one."""
    return (yield from flow_of(caller).storage.runnables_of(caller.tenant, [subject])).get(subject)


def facts_of(caller: Caller, run: int, after_seq: int = 0, limit: int | None = None) -> Op[list[Fact]]:
    """The facts of a run of the tenant, proved."""
    flow = flow_of(caller)
    if not (yield from flow.storage.runs(caller.tenant, [run])):
        raise no_run(run)
    return (yield from flow.storage.journal.load(run, after_seq, limit))


def as_of(caller: Caller, run: int, *, seq: int | None = None, at: datetime | None = None) -> Op[RunState]:
    """The run as it was after fact ``seq``, or at a time, by the fold of its facts."""
    if (seq is None) == (at is None):
        raise InvalidRequest("as_of needs either a seq or a time.", "Give exactly one of them.")
    facts = yield from facts_of(caller, run)
    chosen = [f for f in facts if (seq is not None and f.seq <= seq) or (at is not None and f.at <= at)]
    if not chosen:
        raise NotFound("The run did not exist then.", f"It was started at {facts[0].at.isoformat()}.")
    return fold(chosen, run)


def _snapshot(moving: Moving, standings: Sequence[Standing], children: Sequence[RunRow]) -> RunSnapshot:
    state = moving.state
    views = [_step(moving, step.name, step.performer, standings, children) for step in moving.definition.steps]
    return RunSnapshot(
        run=moving.row, version=state.version, steps=views, active=[str(r) for r in state.active], manual=state.manual,
        resolved=state.resolved, stop=state.stop.model_dump(mode="json") if state.stop else None,
        end=state.end.model_dump(mode="json") if state.end else None, paused=state.paused,
        signals=[signal.name for signal in state.signals], children=children,
        parent=state.parent.model_dump() if state.parent else None, replay_of=state.replay_of, retry_of=state.retry_of,
        anomalies=state.anomalies,
    )  # fmt: skip


def _step(
    moving: Moving, name: str, performer: str, standings: Sequence[Standing], children: Sequence[RunRow]
) -> StepView:
    step = moving.state.step(name)
    items = None
    if step.items is not None:
        items = {
            "total": step.items.total, "planned": step.items.planned, "ok": step.items.ok.bit_count(),
            "error": step.items.error.bit_count(), "canceled": step.items.canceled.bit_count(),
        }  # fmt: skip
    subjects = [
        SubjectView(
            s.runnable.runnable_key, s.runnable.subject, s.state, s.record, s.attempt_count, s.error_class, s.error_code
        )
        for s in standings
        if s.runnable.step == name and s.runnable.iteration == step.iteration and step.phase is not Phase.IDLE
    ]
    own = [
        child.uid for child in children
        if (at := parse_runnable(child.parent_runnable)) is not None and (at.step, at.iteration) == (name, step.iteration)
    ]  # fmt: skip
    return StepView(
        step=name, performer=performer, iteration=step.iteration, phase=str(step.phase), planned_at=step.planned_at,
        ended_at=step.ended_at, deadline=step.deadline, until=step.until, signal=step.signal, items=items,
        error=step.error.model_dump(mode="json") if step.error else None, routes=step.routes, subjects=subjects,
        children=own,
    )  # fmt: skip


def explain(caller: Caller, run: int) -> Op[list[Reason]]:
    """Every reason for which a run waits or stands, with the kernel's ``why`` of the subjects that it waits for."""
    return (yield from explain_read(caller, (yield from read(caller, run))))


def explain_read(caller: Caller, moving: Moving, most: int = _MANY) -> Op[list[Reason]]:
    """The same of a run that was read; at most so many subjects are asked why they wait."""
    flow = flow_of(caller)
    now = yield from caller.store.clock()
    whys: dict[str, list[Reason]] = {}
    workers: list[Worker] = []
    if moving.state.end is None:
        workers = yield from caller.store.workers(caller.tenant)
        for standing in (yield from flow.storage.standings_of(moving.row.uid, waited_for(moving.state, most))):
            if standing.state is None:
                whys[standing.runnable.runnable_key] = [_LOST]
            else:
                whys[standing.runnable.runnable_key] = yield from why(
                    caller.without_followers(), standing.runnable.subject
                )
    return reasons_of(moving.state, moving.definition, now, whys, workers)


def why_of_subject(caller: Caller, thread: SubjectThread, workers: Sequence[Worker], now: datetime) -> Op[list[Reason]]:
    """What the run of a subject adds to why that does not move: that nobody's code has the version it goes by."""
    runnable = yield from runnable_of(caller, thread.envelope.uid)
    if runnable is None:
        return []
    flow = flow_of(caller)
    row = (yield from flow.storage.runs(caller.tenant, [runnable.run]))[runnable.run]
    definition = (yield from flow.definitions(caller.tenant, [row.workflow]))[row.workflow]
    reason = not_served(row.name, definition.version, workers, now)
    return [reason] if reason is not None and row.ended_at is None else []


_LOST = Reason(
    "not_submitted", "It was planned, and the subject that should stand for it is not there.",
    "Run `tenure recover`: a write must have been torn.",
)  # fmt: skip


def graph(caller: Caller, run: int) -> Op[dict[str, Any]]:
    """A run as nodes and edges with their states."""
    moving = yield from read(caller, run)
    return graph_of(moving.definition, moving.state)


def workflow_graph(caller: Caller, name: str, version: int | None = None) -> Op[dict[str, Any]]:
    """A definition as nodes and edges."""
    row = yield from workflow(caller, name, version)
    return graph_of((yield from flow_of(caller).definitions(caller.tenant, [row.uid]))[row.uid])
