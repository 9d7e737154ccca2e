"""Runs that begin plainly, without a key or a root, by the short cut (decision 0014)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tenure.engine.caller import Caller
from tenure.flow.engine.deciding import Deciding, input_problem, new_run, starting
from tenure.flow.engine.moving import Moving
from tenure.flow.engine.plain import plain_hand_overs
from tenure.flow.engine.results import RunResult, result_of
from tenure.flow.handing_over import ShortCut
from tenure.flow.model.requests import StartRun
from tenure.flow.rows import WorkflowRow
from tenure.model.errors import TenureError
from tenure.model.json_text import payload_hash
from tenure.store.operation import Op

if TYPE_CHECKING:
    from tenure.flow.engine.flow import Flow


@dataclass(frozen=True, slots=True)
class Start:
    """One run that is asked for. ``key`` names it within its workflow: the same key is the same run."""

    workflow: str
    input: Any = None
    key: str | None = None
    version: int | None = None
    root: int | None = None
    trigger: str | None = None
    correlation_id: str | None = None


def begin_plainly(
    flow: Flow, short: ShortCut, caller: Caller, requests: Sequence[Start],
    rows: Mapping[tuple[str, int | None], WorkflowRow | None],
) -> Op[dict[int, RunResult]]:  # fmt: skip
    """Begin those that are plain, by their place in ``requests``; the others are left, whatever is wrong with them."""
    definitions = yield from flow.definitions(caller.tenant, [row.uid for row in rows.values() if row is not None])
    now, uids = yield from short.moment(2 * len(requests))
    deciding = Deciding(flow, caller, now)
    deciding.know({}, uids[len(requests) :])
    begun: dict[int, tuple[Moving, StartRun]] = {}
    for index, (request, uid) in enumerate(zip(requests, uids, strict=False)):
        row = rows[request.workflow, request.version]
        if row is None or request.key is not None or request.root is not None:
            continue
        try:
            wanted = StartRun(input_hash=payload_hash(request.input).hex(), trigger=request.trigger)
        except TenureError:
            continue
        if input_problem(definitions[row.uid], request.input) is None:
            moving = new_run(caller, uid, row, definitions[row.uid], request.input, wanted, now, request.correlation_id)
            begun[index] = moving, wanted
    yield from deciding.alone([(moving, [starting(moving.uid, wanted)]) for moving, wanted in begun.values()])
    hand_overs = yield from plain_hand_overs(caller, deciding, [moving for moving, _ in begun.values()], {})
    done = (yield from short.begin(caller.tenant, caller.actor, now, hand_overs)) if hand_overs else set()
    ends = {one.append.thread: one.end for one in hand_overs}
    results = {}
    for index, (moving, _) in begun.items():
        if moving.uid in done:
            moving.written(ends[moving.uid])
            results[index] = result_of(moving)
    return results
