"""signal: something outside tells the run that it happened; a step that waits takes it, or it is kept until one does."""

from __future__ import annotations

from tenure.flow.model.commands import Wake
from tenure.flow.model.decisions.plan import go_on
from tenure.flow.model.decisions.under_way import must_be_under_way
from tenure.flow.model.decisions.unfolding import Context, Decision, answered, check_open, unfold
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.errors import SignalsFull
from tenure.flow.model.facts import SignalAwaited, SignalReceived, SignalTaken
from tenure.flow.model.requests import AwaitSignal, SignalRun
from tenure.flow.model.state import MAX_SIGNALS, RunState


def decide_signal(state: RunState, definition: WorkflowDefinition, request: SignalRun, context: Context) -> Decision:
    """Keep the signal, and let what waits for it go on; ``SignalsFull`` where too many wait to be taken."""
    if (before := answered(state, request, context)) is not None:
        return before
    check_open(state, request)
    unfolding = unfold(state, definition, context)
    if len(state.signals) >= MAX_SIGNALS:
        raise SignalsFull(
            f"{MAX_SIGNALS} signals wait to be taken by this run.",
            "Let the run take some first, or start another run.", waiting=len(state.signals),
        )  # fmt: skip
    unfolding.append(
        SignalReceived(name=request.name, signal_key=request.idempotency_key, ref=request.ref, hash=request.hash),
        request.idempotency_key, request.payload_hash(),
    )  # fmt: skip
    go_on(unfolding)
    if any(s.seq == state.seq + 1 for s in unfolding.state.signals):
        waiter = next((w for w in unfolding.state.waiters if w.name == request.name), None)
        if waiter is not None:
            unfolding.command(Wake(waiter.runnable))
    return unfolding.decision()


def decide_await(state: RunState, definition: WorkflowDefinition, request: AwaitSignal, context: Context) -> Decision:
    """The code of a runnable wants a signal: it gets the oldest of that name, or is woken by the next.

    What it got is the fact ``run.signal_taken`` among the facts of the decision (its seq tells the signal); without one
    the runnable is to be deferred.
    """
    if (before := answered(state, request, context)) is not None:
        return before
    check_open(state, request)
    unfolding = unfold(state, definition, context)
    must_be_under_way(state, request.runnable)
    signal = next((s for s in state.signals if s.name == request.name), None)
    if signal is not None:
        unfolding.append(
            SignalTaken(runnable=request.runnable, signal=signal.seq), request.idempotency_key, request.payload_hash()
        )
    elif all((w.runnable, w.name) != (request.runnable, request.name) for w in state.waiters):
        unfolding.append(SignalAwaited(runnable=request.runnable, name=request.name))
    return unfolding.decision()
