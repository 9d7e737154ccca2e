"""requeue_subject: route, move, reconcile or reopen (S1 sections 4.6 and 8.3)."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.engine.acting import ActionSpec, Outcome, act, single
from tenure.engine.caller import Caller
from tenure.model import fact_types as ft
from tenure.model.decisions.requeue import decide_requeue
from tenure.model.requests import RequeueSubject
from tenure.model.result import ActionResult
from tenure.model.transitions import Action
from tenure.store.operation import Op

SPEC: ActionSpec[RequeueSubject] = ActionSpec(
    Action.REQUEUE,
    (ft.REQUEUED,),
    lambda unfolding, request, context, _: decide_requeue(unfolding, request, context),
    queue_keys=lambda r: (r.queue_key,),
)


def requeue_many(caller: Caller, requests: Sequence[RequeueSubject]) -> Op[list[Outcome]]:
    """The set form: one transaction, a result or an error for each request."""
    return act(caller, SPEC, requests)


def requeue(caller: Caller, request: RequeueSubject) -> Op[ActionResult]:
    """The single form; raises what the set form returns as error."""
    return single((yield from requeue_many(caller, [request])))
