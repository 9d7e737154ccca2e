"""What the code of a runnable may ask for, only while that runnable is under way."""

from __future__ import annotations

from tenure.flow.model.names import Runnable, parse_runnable
from tenure.flow.model.state import RunState
from tenure.model.errors import Conflict


def must_be_under_way(state: RunState, key: str) -> Runnable:
    """The runnable of that key; ``Conflict`` where it was not planned, or has ended (S3: stale parent step contexts)."""
    runnable = parse_runnable(key)
    step = state.under_way(Runnable(runnable.step, runnable.iteration)) if runnable is not None else None
    if runnable is None or step is None or not step.active:
        raise Conflict(
            f"The runnable {key!r} is not under way in this run.",
            "Drop the work: its step has ended, or was done again since.",
            runnable=key,
        )
    return runnable
