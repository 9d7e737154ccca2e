"""The execution envelope: the only authority on a subject's state (S1 section 1.3)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tenure.model.states import TERMINAL, HoldState, State
from tenure.model.worker import Worker


@dataclass(frozen=True, slots=True)
class Envelope:
    """Where one subject stands. Times are aware; ``seq`` is the length of its thread, ``head`` its last hash."""

    uid: int
    tenant: int
    template: str
    created_at: datetime
    state: State
    revision: int
    seq: int
    next_queue_key: str | None = None
    next_action_key: str | None = None
    priority: int = 0
    ready_at: datetime | None = None
    due_at: datetime | None = None
    retry_at: datetime | None = None
    attempt_count: int = 0
    max_attempts_override: int | None = None
    hold_state: HoldState = HoldState.NONE
    hold_reason: str | None = None
    cancel_requested: bool = False
    slots_total: int = 1
    slots_free: int = 1
    slots_done: int = 0
    last_record: int | None = None
    site: str | None = None
    platform: str | None = None
    assay: str | None = None
    barred_workers: tuple[int, ...] = ()
    """Who did it before and may not take it, because it is done again by somebody else; never changes."""
    barred_principals: tuple[int, ...] = ()
    """The same for all workers of these principals."""
    head: bytes = b""

    @property
    def terminal(self) -> bool:
        """True for COMPLETED, CANCELED and FAILED_TERMINAL."""
        return self.state in TERMINAL

    @property
    def eligible_at(self) -> datetime:
        """When it may be taken: coalesce(retry_at, ready_at, created_at) (S1 section 3.1)."""
        return self.retry_at or self.ready_at or self.created_at

    @property
    def shared(self) -> bool:
        """True when several workers may hold it at once."""
        return self.slots_total > 1

    def bars(self, worker: Worker) -> bool:
        """True for a worker that did it before, or whose owner did, where somebody else is to do it."""
        return worker.uid in self.barred_workers or worker.owner in self.barred_principals
