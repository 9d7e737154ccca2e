"""start_child, and what code inside a task keeps: facts that a runnable asks for while it is under way."""

from __future__ import annotations

from tenure.flow.model.commands import StartChild
from tenure.flow.model.decisions.under_way import must_be_under_way
from tenure.flow.model.decisions.unfolding import Context, Decision, check_open, unfold
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.errors import ChildKeyConflict
from tenure.flow.model.facts import Child, ChildStarted, StepKept
from tenure.flow.model.requests import KeepStep, StartChildRun
from tenure.flow.model.state import RunState
from tenure.model.json_text import payload_hash


def child_identity(run: int, step: str, workflow: str, child_key: str) -> str:
    """The run key of a child: who starts it again, after whatever crash, finds it again (S3, Child Run Lineage)."""
    return f"child:{payload_hash([run, step, workflow, child_key]).hex()}"


def decide_start_child(
    state: RunState, definition: WorkflowDefinition, request: StartChildRun, context: Context
) -> Decision:
    """Start a child run from code. The same child key is the same child, also from another attempt at the same step.

    ``ChildKeyConflict`` where the key came with another workflow, version or input: its idempotency key is the child key,
    so the fact that answered before tells. ``RunEnded`` and ``Conflict`` where the parent is not under way any more.
    """
    check_open(state, request)
    runnable = must_be_under_way(state, request.runnable)
    fact = context.replay
    if fact is not None:
        if fact.payload_hash is not None and fact.payload_hash != _hash(request):
            raise ChildKeyConflict(
                f"The child key {request.child_key!r} was used for another child run.",
                "Use another child key for another child.",
                child_key=request.child_key,
            )
        return Decision(state, replayed=fact)
    unfolding = unfold(state, definition, context)
    digest = payload_hash(request.input).hex()
    uid = state.children.get(request.child_key) or next(context.uids)
    unfolding.append(
        ChildStarted(
            step=runnable.step, iteration=runnable.iteration, workflow=request.workflow, version=request.version,
            origin=request.runnable, children=[Child(run=uid, child_key=request.child_key)], hash=digest,
        ),
        f"child:{request.child_key}", _hash(request),
    )  # fmt: skip
    unfolding.command(
        StartChild(runnable, uid, request.workflow, request.version, request.input, digest, request.child_key, True)
    )
    return unfolding.decision()


def _hash(request: StartChildRun) -> bytes:
    """Without the runnable: another attempt, or another time round, is the same parent."""
    return payload_hash([request.workflow, request.version, request.child_key, request.input])


def decide_keep(state: RunState, definition: WorkflowDefinition, request: KeepStep, context: Context) -> Decision:
    """Keep what a step inside a task gave. The same name again is answered by what was kept first."""
    check_open(state, request)
    must_be_under_way(state, request.runnable)
    if context.replay is not None:
        return Decision(state, replayed=context.replay)
    unfolding = unfold(state, definition, context)
    unfolding.append(
        StepKept(runnable=request.runnable, name=request.name, ref=request.ref, hash=request.hash),
        keep_key(request.runnable, request.name), request.payload_hash(),
    )  # fmt: skip
    return unfolding.decision()


def keep_key(runnable: str, name: str) -> str:
    """The idempotency key under which a step inside a task is kept."""
    return f"step:{payload_hash([runnable, name]).hex()}"
