"""start: the first fact of a run, and the steps with which it begins."""

from __future__ import annotations

from tenure.flow.model.commands import SetTimer
from tenure.flow.model.decisions.plan import go_on
from tenure.flow.model.decisions.unfolding import Context, Decision, Unfolding
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.errors import RunKeyConflict
from tenure.flow.model.facts import ResultsAdopted, RunStarted, in_portions
from tenure.flow.model.fold import nothing
from tenure.flow.model.requests import StartRun
from tenure.flow.model.state import RunState
from tenure.model.json_text import instant


def decide_start(
    run: int, definition: WorkflowDefinition, request: StartRun, context: Context, existing: RunState | None = None
) -> Decision:
    """Start a run under the uid ``run``; ``existing`` is the run that has its key already.

    The same key with the same workflow and input is the same run: nothing happens. With another it is
    ``RunKeyConflict`` ("same run key with another plan").
    """
    if existing is not None and existing.started:
        return same_run(existing, definition, request)
    unfolding = Unfolding(nothing(run), definition, context)
    begin(unfolding, request)
    return unfolding.decision()


def same_run(existing: RunState, definition: WorkflowDefinition, request: StartRun) -> Decision:
    """The run that was started under this key, if it is what is asked for now.

    A version that came since, or to which the run migrated, makes no other run of it.
    """
    differs = [
        what for what, now, then in (
            ("workflow", definition.name, existing.workflow), ("input", request.input_hash, existing.input_hash),
        ) if now != then
    ]  # fmt: skip
    if differs:
        raise RunKeyConflict(
            f"The run key {request.key!r} is taken by a run with another {' and '.join(differs)}.",
            "Use another key for another run, or start it with what the first was started with.",
            key=request.key, differs=differs,
        )  # fmt: skip
    return Decision(existing)


def begin(
    unfolding: Unfolding, request: StartRun, adopted: ResultsAdopted | None = None, *, replay_of: int | None = None,
    retry_of: int | None = None, reason: str | None = None,
) -> None:  # fmt: skip
    """Append the first facts, and go on from there."""
    definition = unfolding.definition
    deadline = unfolding.after(definition.deadline)
    unfolding.append(
        RunStarted(
            workflow=definition.name, version=definition.version, fingerprint=definition.fingerprint,
            input_hash=request.input_hash, key=request.key, trigger=request.trigger,
            deadline=instant(deadline) if deadline else None, root=request.root, parent=request.parent,
            replay_of=replay_of, retry_of=retry_of, reason=reason,
        ),
        request.idempotency_key, request.payload_hash(),
    )  # fmt: skip
    if deadline is not None:
        unfolding.command(SetTimer("deadline", deadline))
    for portion in in_portions(adopted.results if adopted is not None else []):
        unfolding.append(ResultsAdopted(results=portion))
    go_on(unfolding)
