"""migrate: a paused run goes on under another version of its workflow, where that fits what it has done."""

from __future__ import annotations

from collections.abc import Iterator

from tenure.flow.model.decisions.plan import go_on
from tenure.flow.model.decisions.unfolding import Context, Decision, answered, check_open, unfold
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.errors import IncompatibleVersion, NotPaused
from tenure.flow.model.facts import RunMigrated
from tenure.flow.model.problem import Problem
from tenure.flow.model.requests import MigrateRun
from tenure.flow.model.shape import shape_of
from tenure.flow.model.state import Phase, RunState, RunStatus, StepState


def decide_migrate(
    state: RunState, before: WorkflowDefinition, after: WorkflowDefinition, request: MigrateRun, context: Context
) -> Decision:
    """Go on under ``after``; ``NotPaused``, or ``IncompatibleVersion`` with every reason as evidence."""
    if (done := answered(state, request, context)) is not None:
        return done
    check_open(state, request)
    unfolding = unfold(state, before, context)
    if state.fingerprint == after.fingerprint:
        return Decision(state)
    if state.status is not RunStatus.PAUSED or state.stop is not None:
        raise NotPaused("Only a paused run can change its version.", "Pause the run first, then migrate and resume it.")
    if problems := list(_problems(state, before, after)):
        raise IncompatibleVersion(
            f"The run cannot go on under version {after.version}: {problems[0]}.",
            "Let the run end under its own version, or register a version that keeps what the run has done.",
            problems=[problem.as_dict() for problem in problems],
        )
    unfolding.append(
        RunMigrated(before=before.version, version=after.version, fingerprint=after.fingerprint, reason=request.reason),
        request.idempotency_key, request.payload_hash(),
    )  # fmt: skip
    unfolding.definition = after
    go_on(unfolding)
    return unfolding.decision()


def _problems(state: RunState, before: WorkflowDefinition, after: WorkflowDefinition) -> Iterator[Problem]:
    if before.name != after.name:
        yield Problem("other_workflow", None, "name", f"it is a version of {after.name!r}")
    for name, step in state.steps.items():
        if step.phase is Phase.IDLE:
            continue
        if name not in after.by_name:
            yield Problem("step_gone", name, "", "the run has come to this step, and the version does not have it")
            continue
        yield from _step_problems(name, step, before, after)
    for done in state.done:
        was, now = (getattr(d.by_name.get(done.step), "compensate_with", None) for d in (before, after))
        if was != now:
            yield Problem(
                "other_compensation", done.step, "compensate_with", f"it would be undone by {now!r}, not {was!r}"
            )
    yield from _passed(state, before, after)


def _step_problems(
    name: str, step: StepState, before: WorkflowDefinition, after: WorkflowDefinition
) -> Iterator[Problem]:
    old, new = before.by_name[name], after.step(name)
    if step.phase is Phase.REACHED:
        return
    if old.performer != new.performer:
        yield Problem(
            "other_performer", name, "performer", f"it was begun as {old.performer}, and is {new.performer} now"
        )
    if old.output_key != new.output_key:
        yield Problem(
            "other_output", name, "output", f"its output was {old.output_key!r}, and is {new.output_key!r} now"
        )
    if step.active and step.items is not None and old != new:
        yield Problem("map_under_way", name, "", "a map cannot change while its items are under way")


def _passed(state: RunState, before: WorkflowDefinition, after: WorkflowDefinition) -> Iterator[Problem]:
    """What was begun may not wait for something that the old version did not wait for and that has not happened."""
    old, new = shape_of(before), shape_of(after)
    for name, step in state.steps.items():
        if step.phase in (Phase.IDLE, Phase.REACHED) or name not in new.incoming:
            continue
        was = {edge.source for edge in old.incoming.get(name, ()) if edge.kind == "after"}
        for edge in new.incoming[name]:
            late = edge.kind == "after" and edge.source not in was and state.step(edge.source).phase is not Phase.OK
            if late:
                yield Problem(
                    "passed_already", name, "after", f"it has begun, and should have waited for {edge.source!r}"
                )
