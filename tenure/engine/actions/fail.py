"""fail_queue_execution: the class of the error decides what follows (S1 sections 8.4 to 8.6)."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.engine.acting import ActionSpec, Outcome, act, single
from tenure.engine.caller import Caller
from tenure.model import fact_types as ft
from tenure.model.decisions.fail import decide_fail
from tenure.model.requests import FailExecution
from tenure.model.result import ActionResult
from tenure.model.transitions import Action
from tenure.store.operation import Op

SPEC: ActionSpec[FailExecution] = ActionSpec(
    Action.FAIL, (ft.FAILED,), decide_fail, queue_keys=lambda r: (r.next_queue_key,), ends_lease=True
)


def fail_many(caller: Caller, requests: Sequence[FailExecution]) -> Op[list[Outcome]]:
    """The set form: one transaction, a result or an error for each request."""
    return act(caller, SPEC, requests)


def fail(caller: Caller, request: FailExecution) -> Op[ActionResult]:
    """The single form; raises what the set form returns as error."""
    return single((yield from fail_many(caller, [request])))
