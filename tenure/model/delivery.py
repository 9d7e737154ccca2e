"""What becomes of an event and of its receiver when a delivery succeeds or fails (design 05, Out; docs/decisions/0016).

An event is given up only where that says something about the event: the receiver refused it, or others got through while it
did not. A receiver that is away as a whole is waited for, however long it takes, and nothing is given up meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from tenure.model.backoff import retry_delay
from tenure.model.queue import RetryPolicy

#: Events of so many threads or groups that failed with nothing delivered in between say that it is the receiver, not they.
DOUBTS = 3
MAX_RETRY_AFTER = 3600.0

#: The receiver as a whole cannot take anything at present.
_BUSY = frozenset({429, 502, 503, 504})
#: It may be the event or the receiver; whether others get through will show.
_UNCLEAR = frozenset({401, 403, 404, 405, 407, 408, 410, 425})


class Outcome(StrEnum):
    """What a delivery came to."""

    DELIVERED = "delivered"
    REFUSED = "refused"
    FAILED = "failed"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a delivery came to, and by what. ``retry_after``: seconds that the receiver asks for."""

    outcome: Outcome
    code: str
    status: int | None = None
    retry_after: float | None = None


DELIVERED = Verdict(Outcome.DELIVERED, "delivered")


def verdict_of(status: int, retry_after: float | None = None) -> Verdict:
    """What an HTTP status says. Redirects are not followed: they are failures."""
    if 200 <= status < 300:
        outcome = Outcome.DELIVERED
    elif status in _BUSY:
        outcome = Outcome.DOWN
    elif 400 <= status < 500 and status not in _UNCLEAR:
        outcome = Outcome.REFUSED
    else:
        outcome = Outcome.FAILED
    patience = min(retry_after, MAX_RETRY_AFTER) if retry_after is not None and retry_after >= 0 else None
    return Verdict(outcome, f"http_{status}", status, patience)


@dataclass(slots=True)
class Receiver:
    """How a receiver as a whole stands, during one turn. ``halted``: nothing more is sent to it in this turn."""

    backoff: RetryPolicy
    seed: int
    now: datetime
    failures: int = 0
    failing_since: datetime | None = None
    failing_with: str | None = None
    resume_at: datetime | None = None
    succeeded_at: datetime | None = None
    doubtful: set[int | str] = field(default_factory=set)
    """Threads and groups whose events failed since anything was delivered."""
    halted: bool = False

    def heard(self, verdict: Verdict, line: int | str) -> None:
        """Take a verdict into account, on an event of a thread or of a group."""
        if verdict.outcome is Outcome.DELIVERED:
            self.failures, self.failing_since, self.failing_with, self.resume_at = 0, None, None, None
            self.succeeded_at = self.now
            self.doubtful.clear()
        elif verdict.outcome is Outcome.DOWN:
            self.halt(verdict)
        elif verdict.outcome is Outcome.FAILED:
            self.doubtful.add(line)
            if self.failures == 0 and len(self.doubtful) >= DOUBTS:
                self.halt(verdict)

    def halt(self, verdict: Verdict) -> None:
        """It cannot be reached at present: try it again after a pause, which grows."""
        if self.halted:
            return
        self.halted = True
        self.failures += 1
        self.failing_since = self.failing_since or self.now
        self.failing_with = verdict.code
        pause = retry_delay(self.backoff, self.failures, self.seed)
        if verdict.retry_after is not None:
            pause = max(pause, timedelta(seconds=verdict.retry_after))
        self.resume_at = self.now + pause


def counted(
    attempts: int, failed_at: datetime | None, succeeded_at: datetime | None, *, every: bool
) -> int:  # fmt: skip
    """How many attempts count against an event that failed once more: those between which others got through.

    With ``every`` all count: where nothing else is sent before it, nothing else could get through.
    """
    first = failed_at is None
    others = succeeded_at is not None and failed_at is not None and succeeded_at >= failed_at
    return attempts + 1 if first or every or others else attempts
