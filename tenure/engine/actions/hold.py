"""place_execution_hold: stop the line for a subject (S1 section 8.7)."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.engine.acting import ActionSpec, Outcome, act, single
from tenure.engine.caller import Caller
from tenure.model import fact_types as ft
from tenure.model.decisions.hold import decide_hold
from tenure.model.requests import PlaceHold
from tenure.model.result import ActionResult
from tenure.model.transitions import Action
from tenure.store.operation import Op

SPEC: ActionSpec[PlaceHold] = ActionSpec(
    Action.HOLD, (ft.HOLD_PLACED,), lambda unfolding, request, context, _: decide_hold(unfolding, request, context)
)


def hold_many(caller: Caller, requests: Sequence[PlaceHold]) -> Op[list[Outcome]]:
    """The set form: one transaction, a result or an error for each request."""
    return act(caller, SPEC, requests)


def hold(caller: Caller, request: PlaceHold) -> Op[ActionResult]:
    """The single form; raises what the set form returns as error."""
    return single((yield from hold_many(caller, [request])))
