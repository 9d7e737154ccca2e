"""How often to ask the scheduler: often while something is young or about to change, seldom when all have long to go."""

from __future__ import annotations

from collections.abc import Iterable

from tenure.agent.execution import Execution, Stage
from tenure.agent.settings import WatchSettings

#: A job is asked after again when it has stood for a tenth longer.
_SHARE = 0.1


def seconds_to_next_look(
    jobs: Iterable[Execution], now: float, settings: WatchSettings, rung_at: float | None = None
) -> float | None:
    """Seconds until the one question for all of them; None where there is no job to ask for.

    What rings (``rung_at``) is a part of a job's beginning or end, and the scheduler may say so only a little later: it is
    asked again after a short time, then after twice as long, until that is no sooner than it would be asked anyway.
    """
    waits = [_wait(job, now) for job in jobs]
    if not waits:
        return None
    wait = min(max(min(waits), settings.fastest_seconds), settings.slowest_seconds)
    return wait if rung_at is None else min(wait, max(now - rung_at, settings.rung_seconds))


def _wait(job: Execution, now: float) -> float:
    if job.cancel_at is not None:
        return max(now - job.cancel_at, 0.0) * _SHARE
    since_change = max(now - job.stage_at, 0.0)
    wait = since_change * _SHARE
    if job.stage is Stage.RUNNING:
        left = job.work.resource_shape.walltime_seconds - since_change
        if left > 0:
            wait = min(wait, max(left, 0.0))
    return wait
