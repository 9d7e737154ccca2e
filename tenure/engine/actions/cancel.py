"""cancel_subject_execution: end a subject for good (S1 section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.engine.acting import ActionSpec, Outcome, act, single
from tenure.engine.caller import Caller
from tenure.model import fact_types as ft
from tenure.model.decisions.cancel import decide_cancel
from tenure.model.requests import CancelSubject
from tenure.model.result import ActionResult
from tenure.model.transitions import Action
from tenure.store.operation import Op

SPEC: ActionSpec[CancelSubject] = ActionSpec(
    Action.CANCEL, (ft.CANCELED,), lambda unfolding, request, context, _: decide_cancel(unfolding, request, context)
)


def cancel_many(caller: Caller, requests: Sequence[CancelSubject]) -> Op[list[Outcome]]:
    """The set form: one transaction, a result or an error for each request."""
    return act(caller, SPEC, requests)


def cancel(caller: Caller, request: CancelSubject) -> Op[ActionResult]:
    """The single form; raises what the set form returns as error."""
    return single((yield from cancel_many(caller, [request])))
