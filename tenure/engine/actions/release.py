"""release_queue_lease: given back undone (S1 section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.engine.acting import ActionSpec, Outcome, act, single
from tenure.engine.caller import Caller
from tenure.model import fact_types as ft
from tenure.model.decisions.release import decide_release
from tenure.model.requests import ReleaseLease
from tenure.model.result import ActionResult
from tenure.model.transitions import Action
from tenure.store.operation import Op

SPEC: ActionSpec[ReleaseLease] = ActionSpec(Action.RELEASE, (ft.RELEASED,), decide_release, ends_lease=True)


def release_many(caller: Caller, requests: Sequence[ReleaseLease]) -> Op[list[Outcome]]:
    """The set form: one transaction, a result or an error for each request."""
    return act(caller, SPEC, requests)


def release(caller: Caller, request: ReleaseLease) -> Op[ActionResult]:
    """The single form; raises what the set form returns as error."""
    return single((yield from release_many(caller, [request])))
