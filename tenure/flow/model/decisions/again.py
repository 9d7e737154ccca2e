"""replay and retry: a new run after another, from its input, or from what it did until it failed."""

from __future__ import annotations

from tenure.flow.model.decisions.start import begin, same_run
from tenure.flow.model.decisions.unfolding import Context, Decision, Unfolding, unfold
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.errors import RunActive, UnsafeReplay
from tenure.flow.model.facts import Adopted, ResultsAdopted
from tenure.flow.model.fold import nothing
from tenure.flow.model.requests import ReplayRun, RetryRun, StartRun
from tenure.flow.model.shape import shape_of
from tenure.flow.model.state import Phase, RunState, RunStatus
from tenure.model.errors import InvalidRequest


def decide_replay(
    run: int, source: RunState, definition: WorkflowDefinition, request: ReplayRun, context: Context,
    existing: RunState | None = None,
) -> Decision:  # fmt: skip
    """A new run of ``definition`` (perhaps a newer version) from the input of ``source``.

    ``UnsafeReplay`` where an irreversible step ran there, unless it is forced with a reason.
    """
    _must_have_ended(source)
    _check_safe(source, request, frozenset())
    start = _start(source, request)
    if existing is not None and existing.started:
        return same_run(existing, definition, start)
    unfolding = Unfolding(nothing(run), definition, context)
    begin(unfolding, start, replay_of=source.run, reason=request.reason)
    return unfolding.decision()


def decide_retry(
    run: int, source: RunState, definition: WorkflowDefinition, request: RetryRun, context: Context,
    existing: RunState | None = None,
) -> Decision:  # fmt: skip
    """A new run that keeps the results of ``source`` before the step that failed, and does that step and the rest again.

    What was undone since is done again too. ``UnsafeReplay`` as for ``replay``, of the steps that would be done again.
    """
    _must_have_ended(source)
    unfold(source, definition, context)
    step = _from_step(source, definition, request)
    kept = _kept(source, definition, step)
    _check_safe(source, request, frozenset(kept))
    start = _start(source, request)
    if existing is not None and existing.started:
        return same_run(existing, definition, start)
    results = [_adopted(source, definition, name) for name in kept]
    unfolding = Unfolding(nothing(run), definition, context)
    begin(unfolding, start, ResultsAdopted(results=results), retry_of=source.run, reason=request.reason)
    return unfolding.decision()


def _must_have_ended(source: RunState) -> None:
    if source.end is None:
        raise RunActive(
            "The run has not ended, so it is neither replayed nor retried.",
            "Wait for its end, or cancel it first.",
            status=str(source.status),
        )


def _start(source: RunState, request: ReplayRun) -> StartRun:
    assert source.input_hash is not None
    key = request.idempotency_key
    return StartRun(key=request.key, input_hash=source.input_hash, root=source.root or source.run, idempotency_key=key)


def _check_safe(source: RunState, request: ReplayRun, kept: frozenset[str]) -> None:
    again = list(dict.fromkeys(d.step for d in source.done if d.recovery == "irreversible" and d.step not in kept))
    if not again or (request.force and request.reason):
        return
    raise UnsafeReplay(
        f"Irreversible work would be done again: {', '.join(again[:10])}.",
        "Force it, with a reason, if it may be done twice."
        if not request.force
        else "Say why: a forced one needs a reason.",
        steps=again,
    )


def _from_step(source: RunState, definition: WorkflowDefinition, request: RetryRun) -> str:
    step = request.from_step or (source.end.step if source.end is not None else None)
    status = source.end.status if source.end is not None else None
    if step is None:
        raise InvalidRequest(
            f"The run ended as {status}, at no step in particular.", "Say from_step: the first step to do again.",
        )  # fmt: skip
    if step not in definition.by_name or step in shape_of(definition).compensates:
        raise InvalidRequest(
            f"There is no step {step!r} to begin with.", "Name a step of the flow in from_step.", step=step
        )
    if status is RunStatus.COMPLETED and request.from_step is None:
        raise InvalidRequest("The run completed, so no step failed.", "Say from_step, or replay the whole run.")
    return step


def _kept(source: RunState, definition: WorkflowDefinition, step: str) -> list[str]:
    """What succeeded and neither follows from ``step`` nor from anything that was undone."""
    shape = shape_of(definition)
    undone = source.compensation.steps[: source.compensation.done] if source.compensation is not None else ()
    again = set(shape.behind(step)).union(*(shape.behind(undo.step) for undo in undone))
    names = [n for n in shape.names if n not in shape.compensates and source.step(n).phase is Phase.OK]
    return [n for n in names if n not in again]


def _adopted(source: RunState, definition: WorkflowDefinition, name: str) -> Adopted:
    step, defined = source.step(name), definition.step(name)
    output = source.outputs.get(defined.output_key)
    kind = getattr(defined, "recovery", "none")
    own = output if output is not None and output.step == name else None
    return Adopted(
        step=name, output=defined.output_key if defined.output_key != name else None,
        ref=own.ref if own is not None else step.ref, value=own.value if own is not None else None,
        hash=step.result_hash, recovery=kind if kind != "none" else None, to=list(step.to),
    )  # fmt: skip
