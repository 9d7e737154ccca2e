"""Moving runs on: decide, append, submit, and again for the runs that are touched by it, all in the caller's transaction.

However many runs are in a set, a round is a constant number of statements (decision 0010). Runs are locked before they are
read, children before their parents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from tenure.engine.caller import Caller
from tenure.flow.engine.deciding import Deciding, News
from tenure.flow.engine.ends import end_of_run
from tenure.flow.engine.moving import Moving, Verb, open_runs
from tenure.flow.engine.stopping import stop, wake
from tenure.flow.engine.writing import write
from tenure.flow.model.commands import EndRun
from tenure.flow.model.decisions.apply import decide_apply
from tenure.flow.model.requests import Ended
from tenure.store.operation import Op

if TYPE_CHECKING:
    from tenure.flow.engine.flow import Flow

Work = Mapping[int, Sequence[Verb]]


def advance(
    flow: Flow, caller: Caller, work: Work, begin: Sequence[tuple[Moving, Sequence[Verb]]] = (),
    opened: Mapping[int, Moving] | None = None, now: datetime | None = None,
) -> Op[dict[int, Moving]]:  # fmt: skip
    """Do what is asked of runs (by uid) and of those that ``begin``, and all that follows; the runs that were touched.

    ``opened`` are runs that the caller has locked and folded. ``now`` is given with runs that begin: their rows have it
    already, and must tell the same as their facts. To be called within a transaction.
    """
    acting = caller.without_followers()
    if now is None:
        now = yield from acting.store.clock()
    known: dict[int, Moving] = dict(opened or {})
    todo: dict[int, list[Verb]] = {uid: list(verbs) for uid, verbs in work.items()}
    begun = list(begin)
    while todo or begun:
        known |= yield from open_runs(flow, acting, todo.keys() - known.keys())
        deciding = Deciding(flow, acting, now)
        yield from deciding.decide([*begun, *((known[uid], verbs) for uid, verbs in todo.items() if uid in known)])
        known |= deciding.touched
        moved = list(deciding.touched.values())
        unfit = yield from write(flow, acting, moved)
        stopped, todo = yield from stop(flow, acting, moved)
        yield from wake(flow, acting, moved)
        news = deciding.news
        for moving, end in unfit:
            news.setdefault(moving.uid, []).append(end)
        _note(news, stopped)
        _note(news, _ends_of_children(moved))
        for uid, ends in news.items():
            todo.setdefault(uid, []).append(applying(ends))
        begun = []
        for moving in moved:
            moving.commands = []
    return known


def applying(ends: Sequence[Ended]) -> Verb:
    """The verb that applies news."""
    return Verb(lambda state, definition, context: decide_apply(state, definition, ends, context))


def _note(news: News, told: Iterable[tuple[int, Ended]]) -> None:
    for uid, end in told:
        news.setdefault(uid, []).append(end)


def _ends_of_children(moved: Sequence[Moving]) -> Iterable[tuple[int, Ended]]:
    for moving in moved:
        row = moving.row
        if row.parent_run is None or row.parent_runnable is None:
            continue
        if any(isinstance(command, EndRun) for command in moving.commands) and moving.state.parent is not None:
            yield row.parent_run, end_of_run(row, row.parent_runnable)
