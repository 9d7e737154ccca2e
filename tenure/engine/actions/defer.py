"""Deferring: again later, without spending an attempt (design 01, Retry)."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.engine.acting import ActionSpec, Outcome, act, single
from tenure.engine.caller import Caller
from tenure.model import fact_types as ft
from tenure.model.decisions.release import decide_defer
from tenure.model.requests import DeferExecution
from tenure.model.result import ActionResult
from tenure.model.transitions import Action
from tenure.store.operation import Op

SPEC: ActionSpec[DeferExecution] = ActionSpec(Action.RELEASE, (ft.DEFERRED,), decide_defer, ends_lease=True)


def defer_many(caller: Caller, requests: Sequence[DeferExecution]) -> Op[list[Outcome]]:
    """The set form: one transaction, a result or an error for each request."""
    return act(caller, SPEC, requests)


def defer(caller: Caller, request: DeferExecution) -> Op[ActionResult]:
    """The single form; raises what the set form returns as error."""
    return single((yield from defer_many(caller, [request])))
