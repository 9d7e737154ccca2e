"""What the short cut takes: runs of which nothing follows but work of their own, a boundary, or their end (decision 0014)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import ValidationError

from tenure.engine.actions.submit import checked, templates_by_code
from tenure.engine.caller import Caller
from tenure.flow.engine.deciding import Deciding
from tenure.flow.engine.moving import Moving
from tenure.flow.engine.writing import FOLLOWS, ROOT, request_of
from tenure.flow.handing_over import Edge, HandOver, StepEnd
from tenure.flow.journal import sealed
from tenure.flow.model.commands import ClearTimer, EndRun, SetTimer, Submit
from tenure.flow.rows import RunnableRow
from tenure.model.errors import TenureError
from tenure.store.operation import Op
from tenure.store.records import Finish, Submission, Template

Ends = Sequence[tuple[StepEnd, Finish]]
"""Ends of steps of one run."""
_Planned = tuple[RunnableRow, Submission]


def plain_hand_overs(
    caller: Caller, deciding: Deciding, runs: Sequence[Moving], ends: Mapping[int, Ends]
) -> Op[list[HandOver]]:  # fmt: skip
    """What is to be handed over for those of the decided ``runs`` that are plain, with the ``ends`` of their steps."""
    plain = [moving for moving in runs if _is_plain(moving)]
    codes = {c.template for moving in plain for c in moving.commands if isinstance(c, Submit)}
    templates = (yield from templates_by_code(caller, codes)) if codes else {}
    found = []
    for moving in plain:
        try:
            planned = yield from _planned(caller, deciding, moving, templates)
        except (TenureError, ValidationError):
            continue  # what does not fit its template ends with that error, which the common way tells of
        append, own = moving.append(), ends.get(moving.uid, ())
        facts = sealed(append, moving.end.head)
        found.append(HandOver(append, facts, own, planned, _edges(own, moving, planned)))
    return found


def _is_plain(moving: Moving) -> bool:
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


def _edges(ends: Ends, moving: Moving, planned: Sequence[_Planned]) -> list[Edge]:
    """As ``writing`` links a new unit: to the root datum, and to what it follows from, most of it known already."""
    known = {end.runnable_key: end.subject for end, _ in ends}
    known |= {runnable.runnable_key: runnable.subject for runnable, _ in planned}
    parents = {str(c.runnable): c.parents for c in moving.commands if isinstance(c, Submit)}
    edges = []
    for runnable, _ in planned:
        if moving.row.root is not None:
            edges.append(Edge(moving.row.root, runnable.subject, ROOT))
        edges += [Edge(known.get(key, key), runnable.subject, FOLLOWS) for key in parents[runnable.runnable_key]]
    return edges
