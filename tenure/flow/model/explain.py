"""Why a run does not move: every reason with its evidence, and what can be done (S3; design 02, explain).

What keeps a single runnable waiting is the kernel's to say: its ``why`` is passed in by runnable key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from tenure.flow.model.deciders import approvers_of, named
from tenure.flow.model.decisions.plan import is_ready
from tenure.flow.model.decisions.unfolding import Context, Unfolding
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.explain_steps import MANY, Whys, under_way
from tenure.flow.model.progress import cannot_start
from tenure.flow.model.shape import shape_of
from tenure.flow.model.state import Phase, RunState, RunStatus
from tenure.flow.model.steps import MANUAL
from tenure.flow.model.versions import not_served
from tenure.model.json_text import instant
from tenure.model.visibility import Reason
from tenure.model.worker import Worker


def explain(
    state: RunState, definition: WorkflowDefinition | None, now: datetime, whys: Whys | None = None,
    workers: Sequence[Worker] = (),
) -> list[Reason]:  # fmt: skip
    """Every reason for which the run waits or stands; the blocking ones need somebody to do something.

    ``definition`` is None where nobody here has the version that the run goes by. ``workers`` are those that there are.
    """
    return list(_reasons(state, definition, now, whys or {}, workers))


def _reasons(
    state: RunState, definition: WorkflowDefinition | None, now: datetime, whys: Whys, workers: Sequence[Worker]
) -> Iterator[Reason]:
    if state.anomaly_count:
        yield _anomalies(state)
    if not state.started:
        yield Reason(
            "not_started", "No fact tells that the run was started.", "Start it, or look whether its key is right."
        )
        return
    if state.end is not None:
        yield _ended(state)
        return
    if definition is None or definition.fingerprint != state.fingerprint:
        yield Reason(
            "version_missing", f"Nothing here has version {state.version} of workflow {state.workflow!r}, by which the run goes.",
            "Register that version again, or migrate the run to another while it is paused.",
            {"workflow": state.workflow, "version": state.version, "fingerprint": state.fingerprint},
        )  # fmt: skip
    elif (reason := not_served(state.workflow, state.version, workers, now)) is not None:
        yield reason
    yield from _stopping(state)
    if state.paused:
        because = f": {state.pause_reason}" if state.pause_reason else "."
        yield Reason("run_paused", f"The run was paused{because}", "Resume it.", {"actions": ["resume", "cancel"]})
    if state.manual is not None:
        yield _boundary(state, definition, now)
    yield from under_way(state, now, whys)
    if definition is not None and definition.fingerprint == state.fingerprint and state.stop is None:
        yield from _not_begun(state, definition, now)


def _anomalies(state: RunState) -> Reason:
    first = state.anomalies[0]
    return Reason(
        "anomalies", f"{state.anomaly_count} facts do not fit; the first is number {first.seq}, {first.type}: {first.reason}.",
        "Run `tenure verify`; what does not fit was left out and changed nothing.",
        {"count": state.anomaly_count, "first": [a.model_dump() for a in state.anomalies[:MANY]]}, blocking=False,
    )  # fmt: skip


def _ended(state: RunState) -> Reason:
    end = state.end
    assert end is not None
    at_step = f" at step {end.step!r}" if end.step else ""
    because = f" ({end.code}{at_step})" if end.code else ""
    said = f": {end.message}" if end.message else "."
    failed = end.status is not RunStatus.COMPLETED
    remedy = (
        "Retry it from the step that failed once the cause is gone, or replay it."
        if failed
        else "Nothing is left to do."
    )
    evidence: dict[str, Any] = {
        "status": str(end.status),
        "code": end.code,
        "step": end.step,
        "ended_at": instant(end.at),
    }
    evidence["actions"] = ["retry", "replay"] if failed else ["replay"]
    return Reason("run_ended", f"The run has ended as {end.status}{because}{said}", remedy, evidence, blocking=False)


def _stopping(state: RunState) -> Iterator[Reason]:
    stop = state.stop
    if stop is None:
        return
    what = "was asked to stop" if stop.status is RunStatus.CANCELED else f"has failed ({stop.code})"
    evidence: dict[str, Any] = {
        "code": stop.code, "step": stop.step, "by": stop.actor, "since": instant(stop.at),
        "under_way": [str(r) for r in state.active[:MANY]],
    }  # fmt: skip
    undoing = state.compensation
    if undoing is not None and undoing.done < len(undoing.steps):
        now = undoing.steps[undoing.done]
        evidence |= {"done": undoing.done, "of": len(undoing.steps), "undoes": now.step, "with": now.undo}
        yield Reason(
            "compensating", f"The run {what} and undoes {now.step!r} by {now.undo!r}, {undoing.done + 1} of {len(undoing.steps)}.",
            "Wait for it; if its work is stuck, its own reasons tell why.", evidence, blocking=False,
        )  # fmt: skip
    else:
        yield Reason(
            "stopping", f"The run {what}, and waits for the end of {len(state.active)} step(s) that were under way.",
            "Wait for their end; a worker that hangs loses its lease in time.", evidence, blocking=False,
        )  # fmt: skip


def _boundary(state: RunState, definition: WorkflowDefinition | None, now: datetime) -> Reason:
    here = state.manual
    assert here is not None
    deadline = f" It fails at {here.deadline}." if here.deadline else ""
    actions = ["approve", "reject"] if here.kind == "approval" else ["resume"]
    what = "an approval" if here.kind == "approval" else "somebody to resume it"
    approvers = approvers_of(definition, here.step)
    by = f", which is for {named(approvers)}" if approvers else ""
    return Reason(
        "manual_boundary", f"The run waits for {what} at step {here.step!r} since {instant(here.since)}.{deadline}",
        f"{' or '.join(actions).capitalize()} it{by}.",
        {"step": here.step, "iteration": here.iteration, "kind": here.kind, "approvers": list(approvers),
         "since": instant(here.since), "seconds": int((now - here.since).total_seconds()), "deadline": here.deadline,
         "actions": [*actions, "cancel"]},
    )  # fmt: skip


def _not_begun(state: RunState, definition: WorkflowDefinition, now: datetime) -> Iterator[Reason]:
    unfolding = Unfolding(state, definition, Context(now, ""))
    never = cannot_start(state, definition)
    shape = shape_of(definition)
    ready = [step for step in definition.steps if is_ready(state, unfolding, step.name)]
    queued = [step.name for step in ready if isinstance(step, MANUAL) and state.manual is not None]
    if queued:
        yield Reason(
            "boundary_queued", f"{', '.join(map(repr, queued[:MANY]))} can be decided on once {_manual(state)!r} is.",
            "Decide on the boundary that is open.", {"steps": queued[:MANY], "open": _manual(state)}, blocking=False,
        )  # fmt: skip
    torn = [step.name for step in ready if step.name not in queued]
    if torn and not state.paused:
        yield Reason(
            "not_planned", f"{', '.join(map(repr, torn[:MANY]))} could begin and was not planned.",
            "Run `tenure recover`: a write must have been torn.", {"steps": torn[:MANY], "actions": ["recover"]},
        )  # fmt: skip
    for step in definition.steps:
        name = step.name
        if (
            step in ready
            or name in never
            or name in shape.compensates
            or state.step(name).phase not in (Phase.IDLE, Phase.REACHED)
        ):
            continue
        waits = [
            e.source for e in shape.incoming[name] if e.kind == "after" and state.step(e.source).phase is not Phase.OK
        ]
        routes = shape.entered(name) and state.step(name).phase is Phase.IDLE
        if waits:
            yield Reason(
                "dependency_wait", f"Step {name!r} waits for {', '.join(map(repr, waits[:MANY]))}.", "Wait for them.",
                {"step": name, "waits_for": waits[:MANY], "needs_route": routes}, blocking=False,
            )  # fmt: skip


def _manual(state: RunState) -> str | None:
    return state.manual.step if state.manual is not None else None
