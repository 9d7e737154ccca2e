"""What passes between engine and store, beside the values of the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tenure.model.attempt import Attempt
from tenure.model.dead_letter import DeadLetter
from tenure.model.envelope import Envelope
from tenure.model.errors import TenureError
from tenure.model.fact import Fact
from tenure.model.hold import Hold
from tenure.model.ordering import OrderKey
from tenure.model.principal import AccessToken, Principal
from tenure.model.queue import Queue, RetryPolicy
from tenure.model.requests import SubmitSubject
from tenure.model.result import ActionResult
from tenure.model.states import State
from tenure.model.thread import SubjectThread
from tenure.model.worker import Worker

FEW = 3
"""Up to how many rows are better written one by one: a statement for hundreds takes longer to start than these take."""


@dataclass(frozen=True, slots=True)
class Proved:
    """A principal as it is looked up before the tenant is known, with its tenant's key and the token that proved it."""

    principal: Principal
    tenant_key: str
    token: AccessToken | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of subject: its code and the JSON Schema of its properties."""

    uid: int
    tenant: int
    code: str
    properties_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """The data tier of a subject, written once."""

    uid: int
    tenant: int
    template: str
    name: str | None
    external_ref: str | None
    properties: Mapping[str, Any]
    payload_ref: str | None
    correlation_id: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Submission:
    """One validated request to submit, with what the store needs to know: template uid and payload hash."""

    request: SubmitSubject
    template: int
    payload_hash: bytes
    properties_text: str
    born_with: Mapping[str, Any] | None
    """The data of its first fact."""
    uid: int | None = None
    """The uid drawn for it, where somebody had to know it before."""
    in_run: bool = False
    """Whether it stands for a runnable of a run, so that its end goes on to the run."""
    retry: RetryPolicy | None = None
    """How it is tried again, where that is not for its queue to say."""

    @classmethod
    def of(cls, request: SubmitSubject, template: int) -> Submission:
        """Work out once what both validation and writing need; ``InvalidPayload`` for what JSON cannot hold."""
        text = request.properties_text()
        return cls(request, template, request.proof(text), text, request.born_with())


@dataclass(frozen=True, slots=True)
class Origin:
    """What ties a subject to other systems: its correlation id, and the trace in which it was submitted."""

    correlation_id: str | None
    trace: str | None


Submitted = ActionResult | TenureError
"""What became of one submission; a result that is ``replayed`` had been submitted before."""


@dataclass(frozen=True, slots=True)
class Target:
    """What an action aims at: a subject, or the subject of a lease or hold; and the key that makes it idempotent.

    ``types`` are the fact types that would answer it; for a lease action without key, its lease is the key.
    """

    types: tuple[str, ...]
    subject: int | None = None
    lease: int | None = None
    idempotency_key: str | None = None


@dataclass(slots=True)
class Loaded:
    """Threads under lock, with what decisions on them look at."""

    now: datetime
    threads: Mapping[int, SubjectThread]
    subject_of_lease: Mapping[int, int]
    token_hashes: Mapping[int, bytes]
    replays: Mapping[int, Fact]
    """By index of the target: the fact that answered it before."""
    queues: Mapping[str, Queue]
    workers: Mapping[int, Worker]
    uids: Iterator[int]


@dataclass(frozen=True, slots=True)
class ScanHint:
    """Where a claim of a dispatcher that is draining a queue may start to look, past what it has taken itself.

    ``after`` is the place in the queue of the last subject taken, ``live_after`` a lease before the oldest that it holds.
    """

    after: OrderKey
    live_after: int = 0


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether a worker may claim from a queue at this moment, and what has to be seen to first."""

    allowed: bool
    due: bool = False
    lapsed: bool = False


@dataclass(slots=True)
class Claimed:
    """One subject taken under lease; the raw token stays with the caller. Not frozen: that would triple its cost."""

    lease: int
    subject: int
    queue_key: str
    worker: int
    attempt_number: int
    state: State
    revision: int
    seq: int
    slot: int
    claimed_at: datetime
    expires_at: datetime
    ttl_seconds: int
    started: bool
    template: str
    name: str | None
    external_ref: str | None
    next_action_key: str | None
    priority: int
    properties: Mapping[str, Any]
    payload_ref: str | None
    correlation_id: str | None
    order: OrderKey | None = field(default=None, compare=False)
    """Where it stood in the queue: a hint for where the next scan may start."""
    submitted_in: str | None = field(default=None, compare=False)
    """The trace in which it was submitted; known where the claim is traced itself."""


@dataclass(slots=True)
class Finish:
    """One plain completion for the hot statement: no key, no next queue, one slot."""

    lease: int
    token_hash: bytes
    payload_hash: bytes
    result: Any = None
    result_ref: str | None = None
    subject: int | None = None
    """Its subject, where that is known: nothing but a hint at what may be remembered of it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that changed nothing, to be counted and shown."""

    code: str
    action: str
    actor: str
    message: str
    subject: int | None = None
    lease: int | None = None
    worker: int | None = None
    queue_key: str | None = None


@dataclass(frozen=True, slots=True)
class InboxRow:
    """A message of another system as it was taken in: the SHA-256 of its content, by whom, and when."""

    content_hash: bytes
    actor: str
    received_at: datetime


@dataclass(frozen=True, slots=True)
class Item:
    """One visible subject of a queue, with the fields that order it."""

    envelope: Envelope
    name: str | None
    external_ref: str | None
    eligible_at: datetime


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """Which of the visible subjects: where the envelope names this site, platform, assay, one of these states."""

    site: str | None = None
    platform: str | None = None
    assay: str | None = None
    states: Sequence[State] | None = None


@dataclass(frozen=True, slots=True)
class ItemPage:
    """Some of the visible subjects, in execution order, and where to go on; None at the end.

    A page may be short, even empty, and not the last: only so many subjects are looked at for one.
    """

    items: Sequence[Item]
    next_after: OrderKey | None


@dataclass(frozen=True, slots=True)
class SubjectFilter:
    """Which subjects: all that is given must fit."""

    uid: int | None = None
    external_ref: str | None = None
    name: str | None = None
    """How the name begins."""
    correlation_id: str | None = None
    states: Sequence[State] | None = None
    queue_key: str | None = None
    """Key of the next queue."""


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """A subject as lists show it."""

    envelope: Envelope
    name: str | None
    external_ref: str | None
    correlation_id: str | None


@dataclass(frozen=True, slots=True)
class SubjectPage:
    """Some subjects, newest first, and below which uid to go on; None at the end.

    A page may be short, even empty, and not the last: only so many subjects are looked at for one.
    """

    subjects: Sequence[SubjectRow]
    next_before: int | None


@dataclass(frozen=True, slots=True)
class WorkerLoad:
    """A worker, and how many ACTIVE leases it holds."""

    worker: Worker
    active_leases: int


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """A lease as lists show it."""

    attempt: Attempt
    tenant: int
    error_message: str | None = None
    result: Any = None
    result_ref: str | None = None


@dataclass(frozen=True, slots=True)
class History:
    """Everything that happened to one subject, in order."""

    subject: Subject
    thread: SubjectThread
    facts: Sequence[Fact]
    attempts: Sequence[LeaseRow]
    refusals: Sequence[RefusalRow] = ()


@dataclass(frozen=True, slots=True)
class RefusalRow:
    """A refusal as it was kept."""

    at: datetime
    refused: Refused


@dataclass(frozen=True, slots=True)
class DeadLetterRow:
    """A dead letter as lists show it."""

    letter: DeadLetter
    template: str
    name: str | None
    error_message: str | None = None
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class HoldRow:
    """A hold as lists show it."""

    hold: Hold
    name: str | None


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """The 16 metrics of S1 section 9.1 for one queue, exact, read in one snapshot. Ages and lags in seconds.

    The definitions here are those that every store is held to. "Of the queue" means: claimed from it (attempts), next
    queue of (subjects), filed under its key (dead letters, refusals).
    """

    queue_key: str
    queue_depth: int = 0
    """Subjects visible in the queue by ``model.visibility.is_visible``: with those whose lease has lapsed, and also
    while the queue is disabled."""
    oldest_job_age_seconds: float | None = None
    """Now minus the earliest ``eligible_since`` of the visible subjects; None where there are none."""
    newest_job_age_seconds: float | None = None
    """Now minus the latest ``eligible_since`` of the visible subjects; None where there are none."""
    active_leases: int = 0
    """Leases of the queue that are ACTIVE and have not lapsed (LEASED, S1 section 4.2)."""
    expired_leases_total: int = 0
    """Leases of the queue whose status is EXPIRED, since ever; lapsed ones count once they were expired."""
    retryable_failures_total: int = 0
    """Records of the queue with status FAILED_RETRYABLE, since ever."""
    terminal_failures_total: int = 0
    """Records of the queue with status FAILED_TERMINAL, since ever."""
    throughput_success_per_minute: float = 0.0
    """Records of the queue with status SUCCEEDED that ended within the window, for each of its minutes."""
    throughput_failure_per_minute: float = 0.0
    """Records of the queue with status FAILED_RETRYABLE or FAILED_TERMINAL that ended within the window, likewise.

    The window is (now - window, now]."""
    failure_rate: float = 0.0
    """Failures / (successes + failures) over the window, 0 to 1; 0 where nothing ended."""
    dead_letter_count: int = 0
    """Dead letters of the queue that are OPEN."""
    held_count: int = 0
    """Subjects of the queue whose state is HELD."""
    worker_online_count: int = 0
    """Workers that are online and accepting and serve the queue (``model.eligibility.serves``)."""
    worker_heartbeat_lag_seconds: float | None = None
    """Now minus the oldest heartbeat among those workers; None where there are none."""
    claim_conflict_total: int = 0
    """Refusals of ``claim_queue_item`` on the queue with the code ``not_claimable``, since ever."""
    idempotent_replay_total: int = 0
    """Refusals on the queue with the code ``idempotent_replay``, since ever."""


#: How long samples are kept.
SAMPLES_KEPT = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class QueueSample:
    """The counts of one queue as they were at a time; rates are over ``window_seconds`` before it."""

    at: datetime
    window_seconds: float
    counts: QueueCounts


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge of the lineage, by S1's relation names."""

    parent: int
    child: int
    relation: str


@dataclass(frozen=True, slots=True)
class Divergence:
    """Something that ``verify`` found wrong."""

    kind: str
    thread: int
    message: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
