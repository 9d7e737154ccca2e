"""recover: whatever should have followed and did not (design 02, Commit order).

On PostgreSQL facts, subjects and what follows from their ends are one transaction, so there is nothing to repair. A journal
that commits by itself may leave torn states: planned and not submitted, ended and not applied, a child that ended and
whose parent does not know, a run that has ended while its work goes on. Doing this twice is doing it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tenure.engine.caller import Caller
from tenure.flow.engine.advance import advance, applying
from tenure.flow.engine.asking import open_run
from tenure.flow.engine.ends import end_of_run, end_of_standing
from tenure.flow.engine.flow import Flow, flow_of
from tenure.flow.engine.moving import Moving, Verb, open_runs
from tenure.flow.engine.stopping import cancel_work
from tenure.flow.engine.values import fetch
from tenure.flow.engine.waking import next_wake
from tenure.flow.model.bits import has
from tenure.flow.model.data import INPUT, DataNeeded, Scope
from tenure.flow.model.decisions.recover import decide_recover
from tenure.flow.model.names import Runnable, parse_runnable
from tenure.flow.model.requests import Ended
from tenure.flow.port import Standing
from tenure.flow.rows import RunRow
from tenure.model.states import TERMINAL
from tenure.store.operation import Op

_BATCH = 100


@dataclass(slots=True)
class Recovery:
    """What was looked at and what was repaired: facts that were missing, subjects that were submitted or canceled."""

    runs: int = 0
    repaired: list[int] = field(default_factory=list)
    appended: int = 0
    submitted: int = 0
    canceled: int = 0
    rows: int = 0
    """Rows that did not stand as their facts do."""
    orphans: list[int] = field(default_factory=list)
    """Threads without a row: their starts were torn before the input was kept, so that they can only be started again."""
    corrupt: list[int] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """True where nothing had to be repaired and nothing is beyond repair."""
        return not (self.repaired or self.orphans or self.corrupt)


def recover(caller: Caller, run: int | None = None, *, batch: int = _BATCH) -> Op[Recovery]:
    """Repair one run, or all of the tenant, a batch at a time, each in a transaction of its own."""
    found = Recovery()
    if run is not None:
        yield from caller.store.transaction(_one(caller, run, found))
        return found
    flow = flow_of(caller)
    # Rows first: a parent looks at the rows of its children.
    for each in (_rows, _batch):
        after = 0
        while threads := (yield from flow.storage.journal.threads(after, batch)):
            yield from caller.store.transaction(each(flow, caller, threads, found))
            after = threads[-1]
    found.repaired = sorted(set(found.repaired))
    return found


def _one(caller: Caller, run: int, found: Recovery) -> Op[None]:
    flow = flow_of(caller)
    yield from open_run(flow, caller, run)
    children = yield from flow.storage.children(caller.tenant, [run])
    yield from _rows(flow, caller, [run, *(child.uid for child in children)], found)
    yield from _batch(flow, caller, [run], found)
    found.repaired = sorted(set(found.repaired))


def _rows(flow: Flow, caller: Caller, threads: Sequence[int], found: Recovery) -> Op[None]:
    """Bring rows to where their facts are."""
    runs = yield from open_runs(flow, caller, threads)
    torn = [m for m in runs.values() if (m.row.seq, m.row.head) != (m.end.rev, m.end.head)]
    late: list[RunRow] = []
    for moving in torn:
        late.append((yield from _as_told(flow, caller, moving)))  # noqa: PERF401 - it yields
    if late:
        yield from flow.storage.write_rows(late)
    found.rows += len(torn)
    found.repaired += [moving.uid for moving in torn]


def _as_told(flow: Flow, caller: Caller, moving: Moving) -> Op[RunRow]:
    state = moving.state
    manual = state.manual.model_dump(mode="json", exclude_none=True) if state.manual is not None else None
    output = moving.row.output
    if state.end is not None and state.end.output_hash is not None:
        values: dict[str, Any] = {INPUT: moving.row.input}
        while True:
            try:
                output = Scope(state, values).evaluate(moving.definition.output, "output")
                break
            except DataNeeded as needed:
                values |= yield from fetch(flow, caller, needed.refs)
    return replace(
        moving.row, status=str(state.status), boundary=manual, seq=moving.end.rev, head=moving.end.head, output=output,
        ended_at=state.end.at if state.end is not None else None, wake_at=next_wake(state, moving.row.started_at),
    )  # fmt: skip


def _batch(flow: Flow, caller: Caller, threads: Sequence[int], found: Recovery) -> Op[None]:
    rows = yield from flow.storage.runs(caller.tenant, threads)
    runs = yield from open_runs(flow, caller, threads)
    found.runs += len(rows)
    found.corrupt += [uid for uid in rows if uid not in runs]
    found.orphans += yield from _orphans(flow, caller, [uid for uid in threads if uid not in rows])
    standings = yield from flow.storage.standings(sorted(runs), everything=True)
    children = yield from flow.storage.children(caller.tenant, sorted(runs))
    results = yield from flow.storage.results([s.record for s in standings if s.state == "COMPLETED" and s.record])
    news: dict[int, list[Ended]] = {}
    for standing in standings:
        moving = runs[standing.runnable.run]
        if standing.state in TERMINAL and _waits(moving, standing.runnable.runnable_key):
            end = end_of_standing(standing, results.get(standing.record or 0))
            if end is not None:
                news.setdefault(moving.uid, []).append(end)
    for child in children:
        if (
            child.ended_at is not None
            and child.parent_run in runs
            and _waits(runs[child.parent_run], child.parent_runnable)
        ):
            news.setdefault(child.parent_run, []).append(end_of_run(child, str(child.parent_runnable)))
    before = {uid: moving.end.rev for uid, moving in runs.items()}
    work = {uid: [*_news(news.get(uid)), Verb(decide_recover)] for uid, m in runs.items() if m.state.end is None}
    moved = yield from advance(flow, caller, work, opened=runs)
    stray = yield from _stray(caller, runs, standings)
    changed = {uid for uid, m in moved.items() if m.end.rev != before.get(uid, 0) or m.submitted}
    found.appended += sum(m.end.rev - before.get(uid, 0) for uid, m in moved.items())
    found.submitted += sum(m.submitted for m in moved.values())
    found.canceled += len(stray)
    found.repaired += sorted(changed | stray)


def _news(ends: list[Ended] | None) -> list[Verb]:
    return [applying(ends)] if ends else []


def _waits(moving: Moving, key: str | None) -> bool:
    """Whether the run still waits for the end of this runnable."""
    runnable = parse_runnable(key)
    step = moving.state.under_way(Runnable(runnable.step, runnable.iteration)) if runnable is not None else None
    if runnable is None or step is None or not step.active or moving.state.end is not None:
        return False
    return step.items is None or runnable.index is None or not has(step.items.ended, runnable.index)


def _stray(caller: Caller, runs: dict[int, Moving], standings: Iterable[Standing]) -> Op[set[int]]:
    """Cancel the work of runs that have ended."""
    live = {
        s.runnable.subject: (s, "run_ended") for s in standings
        if s.state is not None and s.state not in TERMINAL and runs[s.runnable.run].state.end is not None
    }  # fmt: skip
    news = yield from cancel_work(caller.without_followers(), live)
    return {run for run, _ in news}


def _orphans(flow: Flow, caller: Caller, threads: Sequence[int]) -> Op[list[int]]:
    found = []
    for thread in threads:
        facts = yield from flow.storage.journal.load(thread, 0, 1)
        if facts and facts[0].tenant == caller.tenant:
            found.append(thread)
    return found
