"""What the ledger keeps of subscriptions, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from tenure.model.subscription import SubscriptionSpec


@dataclass(frozen=True, slots=True)
class SubscriptionRow:
    """One subscription. ``seq`` and ``head`` are those of its thread."""

    uid: int
    tenant: int
    name: str
    spec: SubscriptionSpec
    enabled: bool
    created_at: datetime
    retired_at: datetime | None = None
    seq: int = 0
    head: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class SubscriptionStanding:
    """A subscription and how far it has come.

    ``behind`` is how many positions of the ledger lie between its cursor and the newest: events of others, of other tenants
    too, are among them. ``oldest_at`` is when the oldest event was told that it has not sent. ``failures`` counts how often
    in a row the receiver could not be reached as a whole, since ``failing_since``; it is tried again at ``resume_at``.
    """

    subscription: SubscriptionRow
    position: int
    behind: int
    oldest_at: datetime | None
    delivered: int
    failed: int
    parked: int
    open_dead_letters: int
    failures: int
    failing_since: datetime | None
    failing_with: str | None
    resume_at: datetime | None
    succeeded_at: datetime | None
    leader: str | None
    held_until: datetime | None
    keys: tuple[int, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class Delivery:
    """An attempt to deliver that failed. ``outcome``: refused (by the receiver), failed, down (the receiver as a whole).

    ``attempts`` is how many count against the event by then.
    """

    position: int
    thread: int
    attempts: int
    at: datetime
    outcome: str
    code: str
    status: int | None
    next_attempt_at: datetime | None
    type: str | None = None
    """Of the fact; None where that is archived."""


@dataclass(frozen=True, slots=True)
class Parked:
    """A thread that waits: nothing of it was delivered from the position on; with ``alone``, that one event.

    With a ``group_key`` it is a group of threads: ``thread`` is that of the event at the position. ``attempts`` count against the
    event, of all ``tries``: those that failed while others got through.
    """

    position: int
    thread: int
    alone: bool
    attempts: int
    tries: int
    first_failed_at: datetime | None
    failed_at: datetime | None
    next_attempt_at: datetime
    code: str | None
    group_key: str | None = None
    give_up_seq: int | None = None
    """The fact of its subscription that says that a person gives it up."""

    @property
    def line(self) -> int | str:
        """What waits: a thread, or a group."""
        return self.thread if self.group_key is None else self.group_key


@dataclass(frozen=True, slots=True)
class WaitingEvent:
    """An event for which a thread waits, or a group: the next one of it that is sent. ``event`` names it: thread and number.

    With ``alone``, nothing else waits for it: a person sends it once more. ``tries`` failed since ``first_failed_at``, of which
    ``attempts`` count against it, those between which others got through; none where it only waits for its turn. ``code`` is
    what the last one came to, at ``failed_at``. It is tried again at ``next_attempt_at``.
    """

    position: int
    event: str
    type: str
    at: datetime
    group_key: str | None
    alone: bool
    attempts: int
    tries: int
    first_failed_at: datetime | None
    failed_at: datetime | None
    code: str | None
    next_attempt_at: datetime
    give_up_seq: int | None


@dataclass(frozen=True, slots=True)
class GivenUp:
    """That a person gave up an event that waited."""

    subscription: int
    event: str
    reason: str
    given_up_by: str
    given_up_at: datetime


@dataclass(frozen=True, slots=True)
class EventDeadLetter:
    """An event that one subscription gave up. ``status``: OPEN, REDELIVERED, IGNORED."""

    uid: int
    subscription: int
    position: int
    thread: int
    fact_seq: int
    type: str
    status: str
    code: str
    http_status: int | None
    attempts: int
    first_failed_at: datetime
    opened_at: datetime
    resolved_at: datetime | None = None
    resolved_by: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Watched:
    """A subscription as a relay looks at it: what it wants, how far it is, who leads it."""

    uid: int
    tenant: int
    tenant_key: str
    spec: SubscriptionSpec
    seq: int
    types: tuple[str, ...]
    queues: tuple[str, ...] | None
    position: int
    fence: int
    failures: int
    failing_since: datetime | None
    failing_with: str | None
    resume_at: datetime | None
    succeeded_at: datetime | None
    moved_at: datetime
    parked: int
    due_at: datetime | None
    given_up: bool
    holder: str | None
    held_until: datetime | None
    now: datetime
