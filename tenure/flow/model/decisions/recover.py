"""recover: everything that was planned and has not ended, asked for again, and whatever should have followed.

Commands are named by runnable keys, so what is there already is left: doing this twice is doing it once (design 02).
"""

from __future__ import annotations

from tenure.flow.model.bits import has
from tenure.flow.model.commands import CancelWork, Command, SetTimer, StartChild
from tenure.flow.model.decisions.plan import go_on
from tenure.flow.model.decisions.prepare import CannotStart, Prepared, prepare, window
from tenure.flow.model.decisions.unfolding import Context, Decision, Unfolding, unfold
from tenure.flow.model.decisions.wind_down import prepare_undo
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.names import Runnable
from tenure.flow.model.state import RunState, StepState
from tenure.flow.model.steps import DISPATCHED, MapStep
from tenure.flow.model.times import moment


def decide_recover(state: RunState, definition: WorkflowDefinition, context: Context) -> Decision:
    """The commands of all that is under way, and what follows where nothing did. Nothing for a run that has ended."""
    unfolding = unfold(state, definition, context)
    if state.end is not None:
        return unfolding.decision()
    for runnable in state.active:
        step = state.under_way(runnable)
        if step is not None:
            unfolding.command(*_outstanding(unfolding, runnable, step))
    if moment(state.deadline) is not None:
        unfolding.command(SetTimer("deadline", moment(state.deadline)))  # type: ignore[arg-type]
    go_on(unfolding)
    return unfolding.decision()


def _outstanding(unfolding: Unfolding, runnable: Runnable, step: StepState) -> list[Command]:
    commands: list[Command] = []
    for kind, at in (("wait", moment(step.until)), ("deadline", moment(step.deadline))):
        if at is not None:
            commands.append(SetTimer(f"{kind}:{runnable}", at))
    definition = unfolding.definition.by_name.get(runnable.step)
    if not isinstance(definition, DISPATCHED):
        return commands
    past = unfolding.state.step(runnable.step).iteration != runnable.iteration
    if past or step.late or (unfolding.state.stop is not None and not step.compensates):
        return [*commands, CancelWork(runnable, "recovered")]
    return commands + _work(unfolding, runnable, step)


def _work(unfolding: Unfolding, runnable: Runnable, step: StepState) -> list[Command]:
    try:
        prepared = _prepared(unfolding, runnable, step)
    except CannotStart:
        return []  # it could be given its input when it was planned; this is for `verify` to find
    commands = [c for c in prepared.commands if not _ended(step, c)]
    return [_same_child(step, command) for command in commands]


def _prepared(unfolding: Unfolding, runnable: Runnable, step: StepState) -> Prepared:
    if step.compensates:
        plan = unfolding.state.compensation
        assert plan is not None
        return prepare_undo(unfolding, plan.steps[plan.done])
    definition = unfolding.definition.step(runnable.step)
    if isinstance(definition, MapStep):
        assert step.items is not None
        return window(unfolding, definition, runnable, 0, step.items.planned)
    return prepare(unfolding, definition)


def _ended(step: StepState, command: Command) -> bool:
    index = getattr(command, "runnable", Runnable("")).index
    return step.items is not None and index is not None and has(step.items.ended, index)


def _same_child(step: StepState, command: Command) -> Command:
    """A child has the identity under which it was planned, not a new one."""
    if not isinstance(command, StartChild) or step.child is None:
        return command
    return StartChild(
        command.runnable, step.child, command.workflow, command.version, command.input, command.input_hash,
        step.child_key or command.child_key,
    )  # fmt: skip
