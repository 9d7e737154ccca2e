"""What facts about steps do to the state: planned, applied, and what follows from routes."""

from __future__ import annotations

from tenure.flow.model import facts as f
from tenure.flow.model.bits import has
from tenure.flow.model.fold_ends import Anomalous, ended, follow, take, with_step
from tenure.flow.model.names import Runnable
from tenure.flow.model.state import Done, Items, Output, Phase, RunState, StepState
from tenure.model.fact import Fact


def planned(state: RunState, data: f.RunnablesPlanned, fact: Fact) -> RunState:
    """Each of the runnables is active; a further window of a map has more items."""
    for one in data.runnables:
        state = _planned(state, one, fact)
    return state


def _planned(state: RunState, one: f.Planned, fact: Fact) -> RunState:
    step = state.step(one.step)
    begun = step.phase not in (Phase.IDLE, Phase.REACHED)
    if begun and step.iteration == one.iteration:
        return _planned_again(state, step, one)
    if one.iteration != step.iteration and not one.compensates:
        raise Anomalous("wrong_iteration")
    if one.start:
        raise Anomalous("items_out_of_order")
    items = None
    if one.total is not None:
        stop = one.total if one.stop is None else one.stop
        if stop > one.total:
            raise Anomalous("items_out_of_order")
        items = Items(total=one.total, planned=stop)
    new = StepState(
        iteration=one.iteration, phase=Phase.ACTIVE, kind=one.kind, output=one.output, hash=one.hash,
        planned_at=fact.at, deadline=one.deadline, recovery=one.recovery, signal=one.signal, until=one.until,
        items=items, compensates=one.compensates, plan_seq=fact.seq,
    )  # fmt: skip
    return with_step(state, one.step, new)


def _planned_again(state: RunState, step: StepState, one: f.Planned) -> RunState:
    items = step.items
    if items is not None and one.total == items.total and one.start == items.planned and one.stop is not None:
        if step.phase is not Phase.ACTIVE or not one.start < one.stop <= items.total:
            raise Anomalous("conflicting_plan")
        more = step.model_copy(update={"items": items.model_copy(update={"planned": one.stop})})
        return with_step(state, one.step, more)
    known = items is not None and one.total == items.total and (one.stop or 0) <= items.planned
    same = (one.kind, one.signal, one.until) == (step.kind, step.signal, step.until)
    if same and (known or (one.total is None and items is None and one.hash == step.hash)):
        return state
    raise Anomalous("conflicting_plan")


def applied(state: RunState, data: f.RunnableApplied, fact: Fact) -> RunState:
    """A step has ended and its routes are taken; or some items of a map have."""
    runnable = Runnable(data.step, data.iteration)
    step = state.under_way(runnable)
    if step is None:
        begun = state.step(data.step)
        raise Anomalous("stale_iteration" if data.iteration < begun.iteration else "apply_before_plan")
    if data.items:
        step = _items_applied(step, data)
        if data.outcome is None:
            return _put(state, runnable, step)
    elif data.outcome is None:
        raise Anomalous("malformed: outcome")
    if step.ended:
        if (step.phase, step.ref, step.result_hash) == (Phase(data.outcome), data.ref, data.hash):
            return state
        raise Anomalous("differing_result")
    if step.phase is Phase.OPEN:
        raise Anomalous("apply_to_boundary")
    if data.signal is not None:
        state = take(state, data.signal)
    output = Output(step=data.step, iteration=data.iteration, ref=data.ref, value=data.value)
    return ended(state, step, data, fact, Phase(data.outcome), output, data.error)


def _items_applied(step: StepState, data: f.RunnableApplied) -> StepState:
    items = step.items
    if items is None:
        raise Anomalous("not_a_map")
    sets = {"ok": items.ok, "error": items.error, "canceled": items.canceled}
    for end in data.items:
        if end.index >= items.planned:
            raise Anomalous("apply_before_plan")
        if has(items.ended, end.index) and not has(sets[end.outcome], end.index):
            raise Anomalous("differing_result")
        sets[end.outcome] |= 1 << end.index
    if sets["ok"] & sets["error"] or (sets["ok"] | sets["error"]) & sets["canceled"]:
        raise Anomalous("differing_result")
    return step.model_copy(update={"items": items.model_copy(update=sets)})


def _put(state: RunState, runnable: Runnable, step: StepState) -> RunState:
    if state.steps.get(runnable.step, None) is not None and state.steps[runnable.step].iteration == runnable.iteration:
        return with_step(state, runnable.step, step)
    return state.model_copy(update={"superseded": {**state.superseded, str(runnable): step}})


def route_followed(state: RunState, data: f.RouteFollowed, fact: Fact) -> RunState:
    """More of what a step's end led to."""
    return follow(state, data)


def stuck(state: RunState, data: f.StepStuck, fact: Fact) -> RunState:
    """The step is under way still, and nothing will come of it unless an operator requeues its work."""
    step = state.under_way(Runnable(data.step, data.iteration))
    if step is None or not step.active:
        raise Anomalous("not_under_way")
    return _put(state, Runnable(data.step, data.iteration), step.model_copy(update={"error": data.error}))


def logged(state: RunState, data: f.StepLogged, fact: Fact) -> RunState:
    """A log step is at once planned and done."""
    step = state.step(data.step)
    if step.phase not in (Phase.IDLE, Phase.REACHED):
        if step.iteration == data.iteration and step.kind == "log" and step.ended:
            return state
        raise Anomalous("conflicting_plan")
    if step.iteration != data.iteration:
        raise Anomalous("wrong_iteration")
    begun = StepState(iteration=data.iteration, kind="log", planned_at=fact.at, plan_seq=fact.seq)
    return ended(state, begun, data, fact, Phase.OK, Output(step=data.step, iteration=data.iteration))


def deadline_passed(state: RunState, data: f.DeadlinePassed, fact: Fact) -> RunState:
    """The step is late: once its work has stopped it has failed."""
    step = state.under_way(Runnable(data.step, data.iteration))
    if step is None or not step.active:
        raise Anomalous("not_under_way")
    if step.iteration != state.step(data.step).iteration:
        return state
    return with_step(state, data.step, step.model_copy(update={"late": True}))


def adopted(state: RunState, data: f.ResultsAdopted, fact: Fact) -> RunState:
    """Results of another run are taken over: these steps are done."""
    for one in data.results:
        if state.step(one.step).phase not in (Phase.IDLE, Phase.REACHED):
            raise Anomalous("conflicting_plan")
        output = Output(step=one.step, ref=one.ref, value=one.value)
        step = StepState(
            phase=Phase.OK, kind="adopted", output=one.output, planned_at=fact.at, ended_at=fact.at, ref=one.ref,
            result_hash=one.hash, to=tuple(one.to), plan_seq=fact.seq,
        )  # fmt: skip
        outputs = {**state.outputs, one.output or one.step: output}
        state = with_step(state, one.step, step, outputs=outputs)
        if one.recovery not in (None, "none"):
            done = Done(step=one.step, iteration=1, recovery=str(one.recovery), ok=True, output=output)
            state = state.model_copy(update={"done": (*state.done, done)})
        for name in one.to:
            if state.step(name).phase is Phase.IDLE:
                state = with_step(state, name, state.step(name).model_copy(update={"phase": Phase.REACHED}))
    return state
