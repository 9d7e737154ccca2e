"""start_execution: work under lease begins (S1 section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.engine.acting import ActionSpec, Outcome, act, single
from tenure.engine.caller import Caller
from tenure.model import fact_types as ft
from tenure.model.decisions.start import decide_start
from tenure.model.requests import StartExecution
from tenure.model.result import ActionResult
from tenure.model.transitions import Action
from tenure.store.operation import Op

SPEC: ActionSpec[StartExecution] = ActionSpec(Action.START, (ft.STARTED,), decide_start)


def start_many(caller: Caller, requests: Sequence[StartExecution]) -> Op[list[Outcome]]:
    """The set form: one transaction, a result or an error for each request."""
    return act(caller, SPEC, requests)


def start(caller: Caller, request: StartExecution) -> Op[ActionResult]:
    """The single form; raises what the set form returns as error."""
    return single((yield from start_many(caller, [request])))
