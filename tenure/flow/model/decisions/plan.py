"""What follows: every step that can start does, in one pass, until nothing more can happen by itself."""

from __future__ import annotations

from functools import partial
from typing import Any

from tenure.flow.model.commands import EndRun, SetTimer
from tenure.flow.model.data import DataNeeded
from tenure.flow.model.decisions.ending import after_rework, before_rework, end_step, fail
from tenure.flow.model.decisions.maps import conclude, may_plan
from tenure.flow.model.decisions.planning import plan
from tenure.flow.model.decisions.prepare import CannotStart, Prepared, prepare, window
from tenure.flow.model.decisions.transition import transition
from tenure.flow.model.decisions.unfolding import Unfolding
from tenure.flow.model.decisions.wind_down import end_run, wind_down
from tenure.flow.model.facts import StepLogged, StepPaused
from tenure.flow.model.mapping import MappingFailed
from tenure.flow.model.names import Runnable
from tenure.flow.model.state import Output, Phase, RunState, RunStatus
from tenure.flow.model.steps import MANUAL, LogStep, MapStep
from tenure.model.json_text import instant, payload_hash


def go_on(unfolding: Unfolding) -> None:
    """Let everything follow that follows; at the end of all, end the run."""
    while unfolding.state.end is None:
        if unfolding.state.stop is not None:
            if not wind_down(unfolding):
                return
        elif not (_conclude_maps(unfolding) or _take_signals(unfolding)):
            if unfolding.state.paused:
                return
            if not _start_ready(unfolding) and not _more_items(unfolding):
                if unfolding.state.active:
                    return
                _complete(unfolding)


def ready_steps(state: RunState, unfolding: Unfolding) -> list[Any]:
    """The steps that may start now, in the order of the definition."""
    begun = {name for name, step in state.steps.items() if step.phase not in (Phase.IDLE, Phase.REACHED)}
    return [
        step for step in unfolding.definition.steps if step.name not in begun and is_ready(state, unfolding, step.name)
    ]


def is_ready(state: RunState, unfolding: Unfolding, name: str) -> bool:
    """Everything that the step joins has succeeded, and a route has led to it, or none need to."""
    shape, step = unfolding.shape, state.step(name)
    if name in shape.compensates or step.phase not in (Phase.IDLE, Phase.REACHED):
        return False
    return (step.phase is Phase.REACHED or not shape.entered(name)) and all(
        state.step(before).phase is Phase.OK for before in shape.joined[name]
    )


def _conclude_maps(unfolding: Unfolding) -> bool:
    return any(conclude(unfolding, runnable) for runnable in unfolding.state.active)


def _take_signals(unfolding: Unfolding) -> bool:
    state = unfolding.state
    if not state.signals:
        return False
    for step in unfolding.definition.steps:
        now = state.step(step.name)
        if now.signal is None or not now.active:
            continue
        signal = next((s for s in state.signals if s.name == now.signal), None)
        if signal is not None:
            runnable = Runnable(step.name, now.iteration)
            end_step(unfolding, runnable, "ok", ref=signal.ref, hash=signal.hash, signal=signal.seq)
            return True
    return False


def _start_ready(unfolding: Unfolding) -> bool:
    ready = ready_steps(unfolding.state, unfolding)
    manual = [step for step in ready if isinstance(step, MANUAL)]
    first = manual[0] if manual and unfolding.state.manual is None else None
    starting = [step for step in ready if not isinstance(step, MANUAL) or step is first]
    prepared = _prepare_all(unfolding, starting)
    if not prepared:
        return False
    if (failed := next((p for p in prepared if isinstance(p, tuple)), None)) is not None:
        step, error = failed
        fail(unfolding, error.code, Runnable(step.name, unfolding.state.step(step.name).iteration), error.message)
        return True
    begun = [p for p in prepared if isinstance(p, Prepared)]
    plan(unfolding, [p for p in begun if not isinstance(p.step, (*MANUAL, LogStep))])
    for one in begun:
        if unfolding.state.stop is not None:
            break
        if isinstance(one.step, LogStep):
            _log(unfolding, one)
        elif isinstance(one.step, MANUAL) and unfolding.state.manual is None:
            _open(unfolding, one)
    return True


def _prepare_all(unfolding: Unfolding, steps: list[Any]) -> list[Prepared | tuple[Any, CannotStart]]:
    """All of them, so that all the data that they need is asked for at once."""
    prepared: list[Prepared | tuple[Any, CannotStart]] = []
    needed: set[str] = set()
    for step in steps:
        try:
            prepared.append(prepare(unfolding, step))
        except DataNeeded as more:
            needed |= more.refs
        except CannotStart as error:
            prepared.append((step, error))
    if needed:
        raise DataNeeded(needed)
    return prepared


def _more_items(unfolding: Unfolding) -> bool:
    more = []
    needed: set[str] = set()
    for step in unfolding.definition.steps:
        now = unfolding.state.step(step.name)
        if not isinstance(step, MapStep) or now.items is None or not now.active:
            continue
        if (room := may_plan(step, now)) == 0:
            continue
        start, runnable = now.items.planned, Runnable(step.name, now.iteration)
        try:
            more.append(window(unfolding, step, runnable, start, start + room))
        except DataNeeded as missing:
            needed |= missing.refs
        except CannotStart as error:
            fail(unfolding, error.code, runnable, error.message)
            return True
    if needed:
        raise DataNeeded(needed)
    plan(unfolding, more)
    return bool(more)


def _log(unfolding: Unfolding, one: Prepared) -> None:
    name = one.runnable.step
    own = {one.step.output_key: Output(step=name, iteration=one.runnable.iteration)}
    way = transition(unfolding, one.step, on_error=False, own=own)
    before_rework(unfolding, way)
    line = partial(StepLogged, step=name, iteration=one.runnable.iteration, level=one.step.level, message=one.message)
    unfolding.append_all(way.told(line))
    after_rework(unfolding, way)
    if not way.found:
        fail(unfolding, "no_route", one.runnable, "none of its routes holds")


def _open(unfolding: Unfolding, one: Prepared) -> None:
    step, deadline = one.step, unfolding.after(one.step.deadline)
    unfolding.append(
        StepPaused(
            step=step.name, iteration=one.runnable.iteration, kind=step.performer,
            output=step.output_key if step.output_key != step.name else None,
            deadline=instant(deadline) if deadline else None,
        )
    )  # fmt: skip
    if deadline is not None:
        unfolding.command(SetTimer(f"deadline:{one.runnable}", deadline))


def _complete(unfolding: Unfolding) -> None:
    try:
        output = unfolding.scope().evaluate(unfolding.definition.output, "output")
    except MappingFailed as error:
        fail(unfolding, "mapping_failed", None, str(error))
        return
    digest = payload_hash(output).hex()
    end_run(unfolding, "COMPLETED", output_hash=digest)
    unfolding.command(EndRun(RunStatus.COMPLETED, output, digest))
