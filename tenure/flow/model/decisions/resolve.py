"""approve, reject, resume: a person passes the manual boundary at which the run stands (S3, Manual Boundaries)."""

from __future__ import annotations

from functools import partial

from tenure.flow.model.deciders import approvers_of, refusal
from tenure.flow.model.decisions.ending import after_rework, before_rework, clear_timers, no_way_on, way_of
from tenure.flow.model.decisions.plan import go_on
from tenure.flow.model.decisions.unfolding import Context, Decision, Unfolding, answered, check_open, unfold
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.errors import BoundaryConflict
from tenure.flow.model.facts import Decided, StepResolved
from tenure.flow.model.names import Runnable
from tenure.flow.model.requests import ResolveStep
from tenure.flow.model.state import Manual, RunState
from tenure.model.json_text import instant


def decide_resolve(state: RunState, definition: WorkflowDefinition, request: ResolveStep, context: Context) -> Decision:
    """Pass the boundary. The same key again changes nothing; a second decision is ``BoundaryConflict``.

    ``Forbidden`` names who may decide where the actor may not.
    """
    if (before := answered(state, request, context)) is not None:
        return before
    check_open(state, request)
    unfolding = unfold(state, definition, context)
    boundary = _boundary(state, request)
    if boundary.kind == "approval":
        approvers = approvers_of(definition, boundary.step)
        if (error := refusal(boundary.step, approvers, context.actor, context.rights)) is not None:
            raise error
    ok = request.decision != "rejected"
    value = {
        "decision": request.decision, "actor": context.actor, "at": instant(context.now), "comment": request.comment,
    }  # fmt: skip
    resolve(unfolding, boundary, request.decision, ok=ok, value=value, comment=request.comment, request=request)
    go_on(unfolding)
    return unfolding.decision()


def resolve(
    unfolding: Unfolding, boundary: Manual, decision: Decided, *, ok: bool, value: object = None, comment: str | None = None,
    request: ResolveStep | None = None,
) -> None:  # fmt: skip
    """Append the resolution with the routes that it takes."""
    runnable = Runnable(boundary.step, boundary.iteration)
    step = unfolding.state.step(boundary.step)
    code = {"rejected": "rejected", "expired": "deadline"}.get(decision, decision)
    way = way_of(unfolding, boundary.step, ok=ok, value=value, code=code)
    if boundary.step not in way.reset:
        before_rework(unfolding, way)
    resolved = partial(
        StepResolved, step=boundary.step, iteration=boundary.iteration, decision=decision, comment=comment
    )
    fact, *more = way.told(resolved)
    key = (request.idempotency_key, request.payload_hash()) if request is not None else (None, None)
    unfolding.append(fact, *key)
    unfolding.append_all(more)
    clear_timers(unfolding, runnable, step)
    after_rework(unfolding, way)
    if not way.found:
        no_way_on(unfolding, runnable, ok=ok, code=code, message=comment)


def _boundary(state: RunState, request: ResolveStep) -> Manual:
    here = state.manual
    wanted = f"{request.decision} at {request.step!r}" if request.step else request.decision
    if here is None:
        last = state.resolved
        told = f" {last.step!r} was {last.decision} by {last.actor} at {instant(last.at)}." if last else ""
        raise BoundaryConflict(
            f"The run stands at no manual boundary, so it cannot be {wanted}.{told}",
            "Read the run again: it may have gone on already.",
            decided={"step": last.step, "decision": last.decision, "actor": last.actor} if last else None,
        )  # fmt: skip
    if (request.step or here.step) != here.step or (request.iteration or here.iteration) != here.iteration:
        raise BoundaryConflict(
            f"The run stands at {here.step!r}, time {here.iteration}, not where it should be {wanted}.",
            "Read the run again and decide on the boundary that is open now.",
            step=here.step, iteration=here.iteration,
        )  # fmt: skip
    if (request.decision == "resumed") != (here.kind == "pause"):
        verbs = "resume" if here.kind == "pause" else "approve or reject"
        raise BoundaryConflict(
            f"{here.step!r} is a {here.kind} step and cannot be {request.decision}.", f"Use {verbs}.",
            step=here.step, kind=here.kind,
        )  # fmt: skip
    return here
