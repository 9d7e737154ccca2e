"""The port that every store implements; one conformance suite runs on each (design 00, conflict 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

from tenure.model.decisions.unfolding import Unfolding
from tenure.model.fact import Fact
from tenure.model.ordering import OrderKey
from tenure.model.principal import AccessToken, Principal
from tenure.model.queue import Queue
from tenure.model.requests import ClaimItems
from tenure.model.result import ActionResult
from tenure.model.states import LeaseStatus
from tenure.model.thread import SubjectThread
from tenure.model.why import Situation
from tenure.model.worker import Worker
from tenure.store.operation import Op
from tenure.store.records import (
    Claimed,
    DeadLetterRow,
    Divergence,
    Edge,
    Finish,
    Gate,
    History,
    HoldRow,
    InboxRow,
    Item,
    ItemFilter,
    ItemPage,
    LeaseRow,
    Loaded,
    Origin,
    Proved,
    QueueCounts,
    QueueSample,
    Refused,
    ScanHint,
    Subject,
    SubjectFilter,
    SubjectPage,
    Submission,
    Submitted,
    Target,
    Template,
)  # fmt: skip

T = TypeVar("T")


class Store(Protocol):
    """Where the state lives. Every method is an operation: atomic in itself, or within ``transaction``."""

    def transaction(self, body: Op[T]) -> Op[T]:
        """Run ``body`` as one transaction: all of it or nothing. Within the caller's transaction: a savepoint."""
        ...

    def clock(self) -> Op[datetime]:
        """The store's time, the only clock there is."""
        ...

    def fresh_uids(self, count: int) -> Op[list[int]]:
        """Draw ``count`` new uids."""
        ...

    # Registry ----------------------------------------------------------------------------------------------------
    def tenant(self, key: str, *, create: bool, actor: str) -> Op[int | None]:
        """The uid of the tenant, created on request."""
        ...

    def templates(self, tenant: int, codes: Iterable[str] | None = None) -> Op[dict[str, Template]]:
        """Templates by code, all where ``codes`` is None."""
        ...

    def define_template(self, tenant: int, code: str, schema: Mapping[str, Any], actor: str) -> Op[Template]:
        """The template; created if new. ``AlreadyExists`` if it is there with another schema."""
        ...

    def queues(self, tenant: int, keys: Iterable[str] | None = None, *, lock: bool = False) -> Op[dict[str, Queue]]:
        """Active queues by key (all where ``keys`` is None); with ``lock`` held until the transaction ends."""
        ...

    def write_queue(self, queue: Queue, fact: Fact, *, new: bool) -> Op[None]:
        """Insert or update a queue together with the fact that tells of it."""
        ...

    def worker(
        self, tenant: int, *, uid: int | None = None, key: str | None = None, lock: bool = False
    ) -> Op[Worker | None]:
        """One worker by uid or key; with ``lock`` held until the transaction ends."""
        ...

    def workers(self, tenant: int) -> Op[list[Worker]]:
        """All workers that are not retired, by key."""
        ...

    def write_worker(self, worker: Worker, fact: Fact, *, new: bool) -> Op[None]:
        """Insert or update a worker together with the fact that tells of it."""
        ...

    def beat(self, tenant: int, worker: int, incarnation: int, error_class: str | None) -> Op[Worker | None]:
        """Note a heartbeat of that incarnation; None where it is not the newest, or the worker is retired."""
        ...

    def retired_queue(self, tenant: int, queue_key: str, idempotency_key: str) -> Op[Queue | None]:
        """The queue that was retired under this idempotency key, whatever bears its queue_key since."""
        ...

    def prior_fact(self, thread: int, types: Sequence[str], idempotency_key: str) -> Op[Fact | None]:
        """The fact of a queue's, worker's or principal's thread that carries this key."""
        ...

    def head(self, thread: int) -> Op[tuple[int, bytes]]:
        """Length and last hash of a queue's, worker's, principal's or tenant's thread."""
        ...

    # Identity ----------------------------------------------------------------------------------------------------
    def principal(
        self, tenant: int, *, uid: int | None = None, name: str | None = None, lock: bool = False
    ) -> Op[Principal | None]:
        """One principal by uid or name; with ``lock`` held until the transaction ends."""
        ...

    def principals(self, tenant: int, limit: int, after: str = "") -> Op[list[Principal]]:
        """Principals in order of their names, keyset-paged by name."""
        ...

    def write_principal(self, principal: Principal, fact: Fact, *, new: bool) -> Op[None]:
        """Insert or change a principal together with the fact that tells of it; never its password."""
        ...

    def write_password(self, principal: Principal, fact: Fact, password_hash: str) -> Op[None]:
        """Keep the hash of a new password together with the fact that tells of it."""
        ...

    def access_token(self, tenant: int, uid: int) -> Op[AccessToken | None]:
        """One access token."""
        ...

    def access_tokens(self, tenant: int, limit: int, *, principal: int | None = None, usable: bool = True,
                      before: int | None = None) -> Op[list[AccessToken]]:  # fmt: skip
        """Access tokens, of one principal or of all, newest first, keyset-paged by uid; ``usable``: that still prove."""
        ...

    def insert_access_token(self, token: AccessToken, digest: bytes, fact: Fact) -> Op[None]:
        """A new access token, known by the SHA-256 of its secret, with the fact of its principal's thread."""
        ...

    def revoke_access_token(self, token: AccessToken, fact: Fact) -> Op[None]:
        """An access token that was revoked, with the fact of its principal's thread."""
        ...

    def authenticate(self, digest: bytes) -> Op[Proved | None]:
        """Whom a secret with this SHA-256 proves at present, of whatever tenant; notes its use once a minute."""
        ...

    def signing_in(self, tenant_key: str, name: str) -> Op[tuple[Proved, str | None] | None]:
        """The active principal of that name, with the hash of its password, if it has one."""
        ...

    def signed_in_elsewhere(self, tenant_key: str, issuer: str, subject: str) -> Op[tuple[int, Proved | None] | None]:
        """The tenant, and the principal in it that an OpenID Connect provider means, whatever its status."""
        ...

    # The work ----------------------------------------------------------------------------------------------------
    def submit_ahead(self, tenant: int, actor: str, items: Sequence[Submission]) -> Op[Op[Sequence[Submitted]]]:
        """The same in two halves: begin, and an operation that brings the answers. Several may be under way."""
        ...

    def submit(self, tenant: int, actor: str, items: Sequence[Submission]) -> Op[Sequence[Submitted]]:
        """Create subjects with envelope and first fact; a known idempotency key is answered from before."""
        ...

    def load(self, tenant: int, targets: Sequence[Target], queue_keys: Iterable[str] = (), workers: Iterable[int] = (),
             *, skip_locked: bool = False) -> Op[Loaded]:  # fmt: skip
        """Lock the subjects aimed at, in order of uid, and read what decisions need. Unknown ones are missing."""
        ...

    def apply(self, unfoldings: Sequence[Unfolding]) -> Op[None]:
        """Write what decisions made of loaded threads: facts, envelopes, attempts, holds, dead letters, edges."""
        ...

    def claim(self, tenant: int, request: ClaimItems, actor: str, hint: ScanHint | None, *, past_gate: bool
              ) -> Op[tuple[Gate, list[Claimed]]]:  # fmt: skip
        """Take the first visible subjects in order, in one statement, skipping locked ones.

        Where due or lapsed subjects must be seen to first, nothing is taken and the gate says so, unless
        ``past_gate``. ``hint`` says where to start scanning.
        """
        ...

    def claimed_before(self, tenant: int, worker: int, claim_key: str) -> Op[list[tuple[Claimed, bytes | None]]]:
        """The leases that a claim with this key took, with its payload hash."""
        ...

    def claimed(self, leases: Sequence[int]) -> Op[list[Claimed]]:
        """Leases just taken by ``apply``, as ``claim`` would have returned them."""
        ...

    def live_leases(self, worker: int) -> Op[int]:
        """How many ACTIVE leases a worker holds."""
        ...

    def promote(self, tenant: int, queue_key: str, limit: int) -> Op[int]:
        """Make deferred subjects whose time has come claimable; how many."""
        ...

    def lapsed(self, tenant: int, queue_key: str | None, limit: int) -> Op[list[int]]:
        """ACTIVE leases past their expiry, oldest first."""
        ...

    def next_due(self, tenant: int, queue_keys: Sequence[str]) -> Op[float | None]:
        """In how many seconds something of these queues falls due or lapses; None where nothing will by itself."""
        ...

    def complete_plain(
        self, tenant: int, worker: int, actor: str, items: Sequence[Finish]
    ) -> Op[Mapping[int, ActionResult]]:
        """Complete what is a plain case and still held, by lease; the rest is left for ``load`` and a decision."""
        ...

    def renew_plain(self, tenant: int, worker: int, incarnation: int, actor: str, leases: Sequence[tuple[int, bytes]],
                    ttl_seconds: int | None) -> Op[dict[int, ActionResult]]:  # fmt: skip
        """Renew (lease, token hash) in one statement; by lease what became of those still held."""
        ...

    def refuse(self, tenant: int, refusals: Sequence[Refused]) -> Op[None]:
        """Keep that requests changed nothing."""
        ...

    # Reading -----------------------------------------------------------------------------------------------------
    def subject(self, tenant: int, uid: int) -> Op[Subject | None]:
        """The data tier of one subject."""
        ...

    def known_subjects(self, tenant: int, uids: Iterable[int]) -> Op[set[int]]:
        """Which of these are subjects of the tenant."""
        ...

    def origins(self, tenant: int, uids: Iterable[int]) -> Op[dict[int, Origin]]:
        """What ties these subjects to other systems; those that nothing ties are missing."""
        ...

    def find_subject(self, tenant: int, external_ref: str) -> Op[int | None]:
        """The subject that carries this external_ref."""
        ...

    def situation(self, tenant: int, uid: int, ahead_limit: int) -> Op[Situation | None]:
        """What ``why`` looks at."""
        ...

    def history(self, tenant: int, uid: int) -> Op[History | None]:
        """Everything that happened to one subject."""
        ...

    def facts(self, thread: int, after_seq: int = 0, limit: int = 1000) -> Op[list[Fact]]:
        """The facts of a thread in order."""
        ...

    def items(self, tenant: int, queue_key: str, limit: int, after: OrderKey | None = None) -> Op[list[Item]]:
        """Visible subjects in execution order, keyset-paged by order key."""
        ...

    def chosen_items(
        self, tenant: int, queue_key: str, chosen: ItemFilter, limit: int, after: OrderKey | None = None
    ) -> Op[ItemPage]:
        """Those of the visible subjects that fit, in execution order, keyset-paged by order key."""
        ...

    def find_subjects(
        self, tenant: int, chosen: SubjectFilter, limit: int, before: int | None = None
    ) -> Op[SubjectPage]:
        """Subjects that fit, newest first, keyset-paged by uid."""
        ...

    def live_by_worker(self, tenant: int) -> Op[Mapping[int, int]]:
        """How many ACTIVE leases each worker holds; those with none are missing."""
        ...

    def counts(self, tenant: int, queue_keys: Sequence[str], window_seconds: float) -> Op[list[QueueCounts]]:
        """S1's 16 metrics per queue; rates over the window."""
        ...

    def sample_queues(self, tenant: int, min_interval_seconds: float, window_seconds: float) -> Op[list[QueueSample]]:
        """Count all queues exactly and keep the counts, where the last sample is at least so old; else nothing.

        However many processes ask at once, one samples and the others get nothing, without waiting. Samples older
        than ``records.SAMPLES_KEPT`` are dropped.
        """
        ...

    def samples(self, tenant: int, queue_key: str, since: datetime, limit_points: int) -> Op[list[QueueSample]]:
        """Samples of a queue since a time, in order; the last of each of ``limit_points`` equal spans."""
        ...

    def latest_counts(self, tenant: int, queue_keys: Sequence[str], max_age_seconds: float) -> Op[list[QueueSample]]:
        """The newest sample of each queue that is at most so old, in the order asked for; others are missing."""
        ...

    def leases(self, tenant: int, status: LeaseStatus | None, limit: int, before: int | None = None,
               queue_key: str | None = None, worker: int | None = None) -> Op[list[LeaseRow]]:  # fmt: skip
        """Leases, newest first, keyset-paged by uid."""
        ...

    def dead_letters(
        self, tenant: int, *, open_only: bool, limit: int, before: int | None = None, queue_key: str | None = None
    ) -> Op[list[DeadLetterRow]]:
        """Dead letters, newest first, keyset-paged by uid; of one queue's key or of all."""
        ...

    def holds(
        self, tenant: int, *, active_only: bool, limit: int, before: int | None = None, queue_key: str | None = None
    ) -> Op[list[HoldRow]]:
        """Holds, newest first, keyset-paged by uid; of one queue's key or of all."""
        ...

    def lineage(self, tenant: int, uid: int) -> Op[list[Edge]]:
        """The edges at one object, both ways."""
        ...

    # Ledger ------------------------------------------------------------------------------------------------------
    def ledger_written(self) -> Op[int]:
        """The highest position of the ledger that was drawn so far; 0 where none was."""
        ...

    def ledger_mark(self) -> Op[int]:
        """A transaction number that is higher than that of every transaction that has one."""
        ...

    def ledger_running(self) -> Op[int]:
        """The number of the oldest transaction that may still be running: all with a lower one have ended."""
        ...

    def ledger_after(self, tenant: int, after: int, up_to: int, limit: int) -> Op[list[Fact]]:
        """The facts of a tenant after one position up to another, in order of position. What is below the horizon is
        complete (``tenure.ledger.horizon``).
        """
        ...

    def take_in(
        self, tenant: int, actor: str, source: str, message_id: str, content_hash: bytes
    ) -> Op[tuple[InboxRow, bool]]:
        """Take a message of another system in, and whether it is new; the row of before where it is not. Whoever takes
        in the same one at this moment is waited for.
        """
        ...

    # Verify ------------------------------------------------------------------------------------------------------
    def subjects_after(self, tenant: int | None, after: int, limit: int, sample: float | None) -> Op[list[int]]:
        """Subjects in order of uid, for walking through all of them."""
        ...

    def subject_count(self, tenant: int | None) -> Op[int]:
        """How many subjects there are, about."""
        ...

    def owners_after(self, tenant: int | None, after: int, limit: int) -> Op[list[tuple[int, int, bytes]]]:
        """Queues, workers, principals and tenants in order of uid, with the length and last hash of their threads."""
        ...

    def evidence(self, uids: Sequence[int]) -> Op[list[tuple[SubjectThread, list[Fact]]]]:
        """For each subject: the thread as its rows have it, and its facts."""
        ...

    def data_divergences(self, uids: Sequence[int]) -> Op[list[Divergence]]:
        """Subjects and plain results whose data is not what their facts prove by hash."""
        ...

    def overall_divergences(self, tenant: int | None) -> Op[list[Divergence]]:
        """What only a look across threads finds: overlapping leases, missing edges, unregistered types."""
        ...
