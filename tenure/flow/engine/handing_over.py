"""Plain ends of steps by the short cut: look, decide, hand over (decision 0014).

Between the two statements nothing is locked. A run that has moved on meanwhile, a lease that ran out, a queue that closed is
noticed by the second one, which leaves that run; and what is no plain case is left before. What is left takes the common way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tenure.engine.caller import Caller
from tenure.flow.engine.advance import applying
from tenure.flow.engine.deciding import Deciding
from tenure.flow.engine.ends import completed
from tenure.flow.engine.moving import Moving, fold_journal
from tenure.flow.engine.plain import plain_hand_overs
from tenure.flow.engine.remembering import Folded
from tenure.flow.engine.values import record_ref
from tenure.flow.engine.writing import keep_checkpoints
from tenure.flow.handing_over import HandOver, Look, ShortCut
from tenure.flow.journal import JournalCorrupt
from tenure.flow.model.fold import fold
from tenure.flow.model.state import FORMAT
from tenure.flow.rows import RunnableRow
from tenure.model.result import ActionResult
from tenure.store.operation import Op
from tenure.store.records import Finish, Submission

if TYPE_CHECKING:
    from tenure.flow.engine.flow import Flow

_Planned = tuple[RunnableRow, Submission]


def hand_over(
    flow: Flow, short: ShortCut, caller: Caller, worker: int, finishes: Sequence[Finish]
) -> Op[Mapping[int, ActionResult]]:
    """Complete those that are plain ends of steps, with all that follows; what was completed, by lease."""
    folds = flow.remembered.take(finish.subject for finish in finishes)
    looks = yield from short.look(
        caller.tenant, worker, finishes, FORMAT, {run: folded.end for run, folded in folds.items()}
    )
    if not looks:
        return {}
    by_lease = {finish.lease: finish for finish in finishes}
    runs = yield from _runs(flow, caller, looks, folds)
    deciding = Deciding(flow, caller, looks[0].now)
    deciding.know(_results(looks, by_lease), [uid for look in looks for uid in look.uids])
    work = [(runs[look.run.uid], [applying(_news(look, by_lease))]) for look in looks if look.run.uid in runs]
    yield from deciding.alone(work)
    ends = {look.run.uid: [(end, by_lease[end.lease]) for end in look.ends] for look in looks}
    hand_overs = yield from plain_hand_overs(caller, deciding, list(runs.values()), ends)
    if not hand_overs:
        return {}
    done = yield from short.hand_over(caller.tenant, worker, caller.actor, deciding.now, hand_overs)
    moved = _written(hand_overs, runs, done)
    yield from keep_checkpoints(flow, moved)
    if any(finish.subject is not None for finish in finishes):
        _remember(flow, moved, hand_overs)
    return done


def _remember(flow: Flow, moved: Sequence[Moving], hand_overs: Sequence[HandOver]) -> None:
    """For when what was planned ends, here."""
    planned = {one.append.thread: [runnable.subject for runnable, _ in one.planned] for one in hand_overs}
    for moving in moved:
        flow.remembered.keep(planned[moving.uid], Folded(moving.uid, moving.end, moving.state, moving.covered))


def _runs(
    flow: Flow, caller: Caller, looks: Sequence[Look], folds: Mapping[int, Folded]
) -> Op[dict[int, Moving]]:  # fmt: skip
    """The runs folded; one that does not prove itself is left, to be told of on the common way."""
    definitions = yield from flow.definitions(caller.tenant, {look.run.workflow for look in looks})
    runs = {}
    for look in looks:
        if isinstance(look.journal, JournalCorrupt):
            continue
        uid = look.run.uid
        if look.known:
            state, covered = fold(look.journal.entries, uid, folds[uid].state), folds[uid].covered
        else:
            state, covered = yield from fold_journal(flow, look.journal)
        runs[uid] = Moving(look.run, definitions[look.run.workflow], state, look.journal.end, covered)
    return runs


def _results(looks: Sequence[Look], by_lease: Mapping[int, Finish]) -> dict[str, Any]:
    """What the steps gave, as what follows may ask for it: it is nowhere else yet."""
    return {record_ref(end.lease + 1): _result(by_lease[end.lease]) for look in looks for end in look.ends}


def _news(look: Look, by_lease: Mapping[int, Finish]) -> list[Any]:
    return [completed(end.runnable_key, end.lease + 1, _result(by_lease[end.lease])) for end in look.ends]


def _result(finish: Finish) -> Any:
    return finish.result if finish.result_ref is None else {"result_ref": finish.result_ref}


def _written(
    hand_overs: Sequence[HandOver], runs: Mapping[int, Moving], done: Mapping[int, ActionResult]
) -> list[Moving]:  # fmt: skip
    """The runs that were moved on, as they stand now."""
    moved = []
    for one in hand_overs:
        if one.ends[0][0].lease in done:
            moving = runs[one.append.thread]
            moving.written(one.end)
            moved.append(moving)
    return moved
