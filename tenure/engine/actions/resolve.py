"""resolve_dead_letter: close it without running the subject again (S4 section 8.4)."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.engine.acting import ActionSpec, Outcome, act, single
from tenure.engine.caller import Caller
from tenure.model import fact_types as ft
from tenure.model.decisions.resolve import decide_resolve
from tenure.model.requests import ResolveDeadLetter
from tenure.model.result import ActionResult
from tenure.model.transitions import Action
from tenure.store.operation import Op

SPEC: ActionSpec[ResolveDeadLetter] = ActionSpec(
    Action.RESOLVE,
    (ft.DEAD_LETTER_RESOLVED,),
    lambda unfolding, request, context, _: decide_resolve(unfolding, request, context),
)


def resolve_many(caller: Caller, requests: Sequence[ResolveDeadLetter]) -> Op[list[Outcome]]:
    """The set form: one transaction, a result or an error for each request."""
    return act(caller, SPEC, requests)


def resolve(caller: Caller, request: ResolveDeadLetter) -> Op[ActionResult]:
    """The single form; raises what the set form returns as error."""
    return single((yield from resolve_many(caller, [request])))
