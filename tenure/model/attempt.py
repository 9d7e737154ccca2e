"""One execution of one subject by one worker, with two faces: the lease (S1 2.2) and the record (S1 2.4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tenure.model.states import LeaseStatus, RecordStatus, State


def record_of(attempt_uid: int) -> int:
    """The uid of the record face: uids are drawn in steps of two, an attempt owns its own and the next."""
    return attempt_uid + 1


def attempt_of(lease_or_record_uid: int) -> int:
    """The attempt behind the uid of either face."""
    return lease_or_record_uid & ~1


@dataclass(frozen=True, slots=True)
class Attempt:
    """What facts tell of an attempt. ``lease_status`` is None for a reconciliation (record face only)."""

    uid: int
    subject: int
    queue_key: str | None
    worker: int | None
    attempt_number: int
    record_status: RecordStatus
    lease_status: LeaseStatus | None = LeaseStatus.ACTIVE
    slot: int = 1
    incarnation: int = 1
    ttl_seconds: int | None = None
    claimed_at: datetime | None = None
    heartbeat_at: datetime | None = None
    expires_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    release_reason: str | None = None
    start_state: State | None = None
    start_revision: int | None = None
    end_state: State | None = None
    end_revision: int | None = None
    error_class: str | None = None
    error_code: str | None = None
    action_key: str | None = None
    external_ref: str | None = None

    @property
    def live(self) -> bool:
        """True while the lease is ACTIVE, expired or not."""
        return self.lease_status is LeaseStatus.ACTIVE

    def expired(self, now: datetime) -> bool:
        """True when ACTIVE and past ``expires_at`` (S1 section 6.4)."""
        return self.live and self.expires_at is not None and self.expires_at <= now
