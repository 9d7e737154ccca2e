"""release_execution_hold: let a held subject go on (S1 section 8.7)."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.engine.acting import ActionSpec, Outcome, act, single
from tenure.engine.caller import Caller
from tenure.model import fact_types as ft
from tenure.model.decisions.hold import decide_release_hold
from tenure.model.requests import ReleaseHold
from tenure.model.result import ActionResult
from tenure.model.transitions import Action
from tenure.store.operation import Op

SPEC: ActionSpec[ReleaseHold] = ActionSpec(
    Action.RELEASE_HOLD,
    (ft.HOLD_RELEASED,),
    lambda unfolding, request, context, _: decide_release_hold(unfolding, request, context),
)


def release_hold_many(caller: Caller, requests: Sequence[ReleaseHold]) -> Op[list[Outcome]]:
    """The set form: one transaction, a result or an error for each request."""
    return act(caller, SPEC, requests)


def release_hold(caller: Caller, request: ReleaseHold) -> Op[ActionResult]:
    """The single form; raises what the set form returns as error."""
    return single((yield from release_hold_many(caller, [request])))
