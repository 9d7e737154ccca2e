"""dispatch_external: work was handed to something outside (S1 section 7.6)."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.engine.acting import ActionSpec, Outcome, act, single
from tenure.engine.caller import Caller
from tenure.model import fact_types as ft
from tenure.model.decisions.dispatch import decide_dispatch
from tenure.model.requests import DispatchExternal
from tenure.model.result import ActionResult
from tenure.model.transitions import Action
from tenure.store.operation import Op

SPEC: ActionSpec[DispatchExternal] = ActionSpec(Action.DISPATCH, (ft.DISPATCHED,), decide_dispatch)


def dispatch_many(caller: Caller, requests: Sequence[DispatchExternal]) -> Op[list[Outcome]]:
    """The set form: one transaction, a result or an error for each request."""
    return act(caller, SPEC, requests)


def dispatch(caller: Caller, request: DispatchExternal) -> Op[ActionResult]:
    """The single form; raises what the set form returns as error."""
    return single((yield from dispatch_many(caller, [request])))
