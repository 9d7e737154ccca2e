"""What the end of a step does to the state: its output, what must be undone, the routes that it takes."""

from __future__ import annotations

from typing import Any

from tenure.flow.model import facts as f
from tenure.flow.model.names import Runnable
from tenure.flow.model.state import Compensation, Done, Output, Phase, RunState, StepState
from tenure.model.fact import Fact


class Anomalous(Exception):
    """A fact that does not fit; ``reason`` is its stable code."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def with_step(state: RunState, name: str, step: StepState, **changes: Any) -> RunState:
    """The state with that step."""
    return state.model_copy(update={"steps": {**state.steps, name: step}, **changes})


def ended(
    state: RunState,
    step: StepState,
    data: Any,
    fact: Fact,
    phase: Phase,
    output: Output,
    error: f.StepError | None = None,
) -> RunState:
    """The step ends in ``phase``; its output is there, its recovery is noted, its routes are taken."""
    state = _done(state, step, data, phase, output)
    runnable = Runnable(data.step, data.iteration)
    if str(runnable) in state.superseded and state.step(data.step).iteration != data.iteration:
        rest = {key: old for key, old in state.superseded.items() if key != str(runnable)}
        return state.model_copy(update={"superseded": rest})
    after = step.model_copy(
        update={
            "phase": phase, "ended_at": fact.at, "ref": output.ref, "result_hash": getattr(data, "hash", None),
            "error": error, "routes": tuple(data.routes), "to": tuple(data.to), "kept": 0,
        }
    )  # fmt: skip
    state = with_step(state, data.step, after, waiters=_without(state, data.step))
    if step.compensates:
        return _compensated(state, phase)
    if phase is Phase.OK and step.kind != "log":
        state = state.model_copy(update={"outputs": {**state.outputs, step.output or data.step: output}})
    return follow(state, data)


def _without(state: RunState, step: str) -> tuple[Any, ...]:
    return tuple(w for w in state.waiters if w.runnable.partition("#")[0].partition("[")[0] != step)


def _done(state: RunState, step: StepState, data: Any, phase: Phase, output: Output) -> RunState:
    """Who may have had an effect: it succeeded, failed half way, or was canceled and nobody knows."""
    recovery = step.recovery
    if recovery in (None, "none") or getattr(data, "untouched", False):
        return state
    if recovery == "transaction" and phase is not Phase.OK:
        return state  # what it did was rolled back with it
    entry = Done(
        step=data.step, iteration=data.iteration, recovery=str(recovery), ok=phase is Phase.OK,
        output=output if phase is Phase.OK else None,
    )  # fmt: skip
    return state.model_copy(update={"done": (*state.done, entry)})


def _compensated(state: RunState, phase: Phase) -> RunState:
    plan = state.compensation
    if plan is None:
        return state
    change = {"done": plan.done + 1} if phase is Phase.OK else {"failed": True}
    return state.model_copy(update={"compensation": Compensation.model_validate({**plan.model_dump(), **change})})


def follow(state: RunState, data: Any) -> RunState:
    """Take the routes: steps to do again begin anew, steps that are led to are reached."""
    if data.rework is not None:
        state = state.model_copy(
            update={"reworks": {**state.reworks, data.rework: state.reworks.get(data.rework, 0) + 1}}
        )
    if data.reset:
        state = _again(state, data.reset)
    if not data.to:
        return state
    steps = dict(state.steps)
    for name in data.to:
        step = steps.get(name, StepState())
        if step.phase is Phase.IDLE:
            steps[name] = step.model_copy(update={"phase": Phase.REACHED})
    return state.model_copy(update={"steps": steps})


def _again(state: RunState, reset: list[str]) -> RunState:
    steps, superseded = dict(state.steps), dict(state.superseded)
    outputs, previous = dict(state.outputs), dict(state.previous)
    for name in reset:
        step = steps.get(name)
        if step is None or step.phase is Phase.IDLE:
            continue
        if step.phase is Phase.REACHED:
            steps[name] = StepState(iteration=step.iteration)
            continue
        if step.active:
            superseded[str(Runnable(name, step.iteration))] = step
        key = step.output or name
        if key in outputs and outputs[key].step == name:
            previous[key] = outputs.pop(key)
        steps[name] = StepState(iteration=step.iteration + 1)
    return state.model_copy(update={"steps": steps, "superseded": superseded, "outputs": outputs, "previous": previous})


def take(state: RunState, seq: int) -> RunState:
    """A waiting signal is taken."""
    if all(signal.seq != seq for signal in state.signals):
        raise Anomalous("no_such_signal")
    return state.model_copy(update={"signals": tuple(s for s in state.signals if s.seq != seq)})
