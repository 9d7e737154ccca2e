"""Plain ends of steps by the short cut: look, decide, hand over (decision 0014).

Between the two statements nothing is locked. A run that has moved on meanwhile, a lease that ran out, a queue that closed is
noticed by the second one, which leaves that run; and what is no plain case is left before. What is left takes the common way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tenure.engine.actions.submit import checked, templates_by_code
from tenure.engine.caller import Caller
from tenure.flow.engine.advance import applying
from tenure.flow.engine.deciding import Deciding
from tenure.flow.engine.ends import completed
from tenure.flow.engine.moving import Moving, fold_journal
from tenure.flow.engine.values import record_ref
from tenure.flow.engine.writing import FOLLOWS, ROOT, keep_checkpoints, request_of
from tenure.flow.handing_over import Edge, HandOver, Look, ShortCut
from tenure.flow.journal import JournalCorrupt, sealed
from tenure.flow.model.commands import ClearTimer, EndRun, SetTimer, Submit
from tenure.flow.model.state import FORMAT
from tenure.flow.rows import RunnableRow
from tenure.model.errors import TenureError
from tenure.model.result import ActionResult
from tenure.store.operation import Op
from tenure.store.records import Finish, Submission, Template

if TYPE_CHECKING:
    from tenure.flow.engine.flow import Flow

_Planned = tuple[RunnableRow, Submission]


def hand_over(
    flow: Flow, short: ShortCut, caller: Caller, worker: int, finishes: Sequence[Finish]
) -> Op[Mapping[int, ActionResult]]:
    """Complete those that are plain ends of steps, with all that follows; what was completed, by lease."""
    looks = yield from short.look(caller.tenant, worker, finishes, FORMAT)
    if not looks:
        return {}
    by_lease = {finish.lease: finish for finish in finishes}
    runs = yield from _runs(flow, caller, looks)
    deciding = Deciding(flow, caller, looks[0].now)
    deciding.know(_results(looks, by_lease), [uid for look in looks for uid in look.uids])
    work = [(runs[look.run.uid], [applying(_news(look, by_lease))]) for look in looks if look.run.uid in runs]
    yield from deciding.alone(work)
    hand_overs = yield from _hand_overs(caller, deciding, looks, runs, by_lease)
    if not hand_overs:
        return {}
    done = yield from short.hand_over(caller.tenant, worker, caller.actor, deciding.now, hand_overs)
    yield from keep_checkpoints(flow, _written(hand_overs, runs, done))
    return done


def _runs(flow: Flow, caller: Caller, looks: Sequence[Look]) -> Op[dict[int, Moving]]:
    """The runs folded; one that does not prove itself is left, to be told of on the common way."""
    definitions = yield from flow.definitions(caller.tenant, {look.run.workflow for look in looks})
    runs = {}
    for look in looks:
        if not isinstance(look.journal, JournalCorrupt):
            state, covered = yield from fold_journal(flow, look.journal)
            runs[look.run.uid] = Moving(look.run, definitions[look.run.workflow], state, look.journal.end, covered)
    return runs


def _results(looks: Sequence[Look], by_lease: Mapping[int, Finish]) -> dict[str, Any]:
    """What the steps gave, as what follows may ask for it: it is nowhere else yet."""
    return {record_ref(end.lease + 1): _result(by_lease[end.lease]) for look in looks for end in look.ends}


def _news(look: Look, by_lease: Mapping[int, Finish]) -> list[Any]:
    return [completed(end.runnable_key, end.lease + 1, _result(by_lease[end.lease])) for end in look.ends]


def _result(finish: Finish) -> Any:
    return finish.result if finish.result_ref is None else {"result_ref": finish.result_ref}


def _hand_overs(
    caller: Caller, deciding: Deciding, looks: Sequence[Look], runs: Mapping[int, Moving], by_lease: Mapping[int, Finish]
) -> Op[list[HandOver]]:  # fmt: skip
    plain = [look for look in looks if look.run.uid in runs and _is_plain(runs[look.run.uid])]
    codes = {c.template for look in plain for c in runs[look.run.uid].commands if isinstance(c, Submit)}
    templates = (yield from templates_by_code(caller, codes)) if codes else {}
    found = []
    for look in plain:
        moving = runs[look.run.uid]
        try:
            planned = yield from _planned(caller, deciding, moving, templates)
        except (TenureError, ValidationError):
            continue  # what does not fit its template ends with that error, which the common way tells of
        append, ends = moving.append(), [(end, by_lease[end.lease]) for end in look.ends]
        facts = sealed(append, moving.end.head)
        found.append(HandOver(append, facts, ends, planned, _edges(look, moving, planned)))
    return found


def _is_plain(moving: Moving) -> bool:
    """It goes on, and nothing follows but work of its own, or its end."""
    if not moving.entries or moving.refusals or moving.payloads:
        return False
    return all(
        (isinstance(c, Submit) and not c.not_by)
        or isinstance(c, SetTimer | ClearTimer)
        or (isinstance(c, EndRun) and moving.row.parent_run is None)
        for c in moving.commands
    )


def _planned(
    caller: Caller, deciding: Deciding, moving: Moving, templates: dict[str, Template]
) -> Op[list[_Planned]]:  # fmt: skip
    named = {str(c.runnable): c for c in moving.commands if isinstance(c, Submit)}
    uids = yield from deciding.draw(len(named))
    planned = []
    for (key, command), uid in zip(named.items(), uids, strict=True):
        item = replace(checked(request_of(moving, command, {}), templates), uid=uid, in_run=True, retry=command.retry)
        retry = command.retry.model_dump(mode="json") if command.retry is not None else None
        at = command.runnable
        planned.append((RunnableRow(uid, caller.tenant, moving.uid, key, at.step, at.iteration, retry), item))
    return planned


def _edges(look: Look, moving: Moving, planned: Sequence[_Planned]) -> list[Edge]:
    """As ``writing`` links a new unit: to the root datum, and to what it follows from, most of it known already."""
    known = {end.runnable_key: end.subject for end in look.ends}
    known |= {runnable.runnable_key: runnable.subject for runnable, _ in planned}
    parents = {str(c.runnable): c.parents for c in moving.commands if isinstance(c, Submit)}
    edges = []
    for runnable, _ in planned:
        if moving.row.root is not None:
            edges.append(Edge(moving.row.root, runnable.subject, ROOT))
        edges += [Edge(known.get(key, key), runnable.subject, FOLLOWS) for key in parents[runnable.runnable_key]]
    return edges


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
