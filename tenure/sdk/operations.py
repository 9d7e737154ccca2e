"""What a client can do, written once as operations; the sync and the async client call the same functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tenure.engine import reading
from tenure.engine.acting import Outcome
from tenure.engine.actions import (
    access_tokens,
    principals,
    queues,
    release,
    workers,
)
from tenure.engine.actions import (
    cancel as cancel_action,
)  # fmt: skip
from tenure.engine.actions import (
    claim as claim_action,
)
from tenure.engine.actions import (
    complete as complete_action,
)
from tenure.engine.actions import (
    defer as defer_action,
)
from tenure.engine.actions import (
    dispatch as dispatch_action,
)
from tenure.engine.actions import (
    expire as expire_action,
)
from tenure.engine.actions import (
    fail as fail_action,
)
from tenure.engine.actions import (
    hold as hold_action,
)
from tenure.engine.actions import (
    release_hold as release_hold_action,
)
from tenure.engine.actions import (
    renew as renew_action,
)
from tenure.engine.actions import (
    requeue as requeue_action,
)
from tenure.engine.actions import (
    resolve as resolve_action,
)
from tenure.engine.actions import (
    start as start_action,
)
from tenure.engine.actions import (
    submit as submit_action,
)
from tenure.engine.caller import Caller
from tenure.engine.verify import Report
from tenure.engine.verify import verify as verify_store
from tenure.flow.engine.flow import Flow
from tenure.flow.engine.verifying import verify_runs
from tenure.model.envelope import Envelope
from tenure.model.errors import InvalidRequest, NaiveDatetime
from tenure.model.fact import Fact
from tenure.model.ordering import OrderKey
from tenure.model.principal import (
    AccessToken,
    AccessTokenSpec,
    Principal,
    PrincipalChange,
    PrincipalSpec,
    PrincipalStatus,
)
from tenure.model.queue import Queue, QueuePolicy
from tenure.model.requests import (
    CancelSubject,
    ClaimItems,
    CompleteExecution,
    DeferExecution,
    DispatchExternal,
    ExpireLease,
    FailExecution,
    PlaceHold,
    ReleaseHold,
    ReleaseLease,
    RenewLease,
    RequeueSubject,
    ResolveDeadLetter,
    StartExecution,
    SubmitSubject,
    validated,
)  # fmt: skip
from tenure.model.result import ActionResult
from tenure.model.states import ErrorClass, LeaseStatus, State
from tenure.model.visibility import Reason
from tenure.model.worker import Worker, WorkerSpec
from tenure.sdk.password import password_hash
from tenure.sdk.references import (
    LeaseRef,
    PrincipalRef,
    SubjectRef,
    TokenRef,
    WorkerRef,
    access_token_uid,
    lease_uid,
    subject_uid,
    uid_of,
    worker_uid,
)
from tenure.sdk.token import Token, digest_of
from tenure.store.operation import Op
from tenure.store.records import (
    Claimed,
    DeadLetterRow,
    Edge,
    History,
    HoldRow,
    Item,
    ItemFilter,
    ItemPage,
    LeaseRow,
    QueueCounts,
    QueueSample,
    ScanHint,
    SubjectFilter,
    SubjectPage,
    Template,
    WorkerLoad,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lease:
    """A claim with the token that proves it: what the holder needs for every further action."""

    item: Claimed
    token: Token

    @property
    def subject(self) -> int:
        """The uid of the subject."""
        return self.item.subject

    @property
    def lease(self) -> int:
        """The uid of the lease."""
        return self.item.lease


# Registry ------------------------------------------------------------------------------------------------------------
def define_queue(caller: Caller, /, queue_key: str, **policy: Any) -> Op[Queue]:
    """Define a queue (S1 section 2.1); the same definition again changes nothing."""
    return queues.define_queue(caller, validated(QueuePolicy, queue_key=queue_key, **policy))


def update_queue_policy(
    caller: Caller, /, queue_key: str, *, expected_revision: int | None = None, idempotency_key: str | None = None,
    **changes: Any,
) -> Op[Queue]:  # fmt: skip
    """Change a queue's policy; key and templates never change."""
    return queues.update_queue_policy(
        caller, queue_key, changes, expected_revision=expected_revision, idempotency_key=idempotency_key
    )


def retire_queue(caller: Caller, /, queue_key: str, *, reason: str) -> Op[Queue]:
    """Retire a queue; its key is free for a replacement."""
    return queues.retire_queue(caller, queue_key, reason)


def define_template(caller: Caller, /, code: str, schema: Mapping[str, Any] | None = None) -> Op[Template]:
    """Define a template: a kind of subject, with the JSON Schema of its properties."""
    return queues.define_template(caller, code, schema)


def register_worker(caller: Caller, /, worker_key: str, **spec: Any) -> Op[Worker]:
    """Register a worker, or take its key over: only the newest registration may claim, beat and renew."""
    return workers.register_worker(caller, validated(WorkerSpec, worker_key=worker_key, **spec))


def heartbeat_worker(
    caller: Caller, /, worker: WorkerRef, *, incarnation: int, error_class: str | None = None
) -> Op[Worker]:
    """Say that the worker is alive."""
    return workers.heartbeat_worker(caller, worker_uid(worker), incarnation, error_class)


def drain_worker(
    caller: Caller, /, worker: WorkerRef, *, reason: str | None = None, idempotency_key: str | None = None
) -> Op[Worker]:
    """Let a worker finish what it holds and claim no more."""
    return workers.drain_worker(caller, worker_uid(worker), reason, idempotency_key)


def disable_worker(
    caller: Caller, /, worker: WorkerRef, *, reason: str | None = None, idempotency_key: str | None = None
) -> Op[Worker]:
    """Forbid a worker to claim and to renew."""
    return workers.disable_worker(caller, worker_uid(worker), reason, idempotency_key)


def enable_worker(
    caller: Caller, /, worker: WorkerRef, *, reason: str | None = None, idempotency_key: str | None = None
) -> Op[Worker]:
    """Undo draining or disabling."""
    return workers.enable_worker(caller, worker_uid(worker), reason, idempotency_key)


def retire_worker(
    caller: Caller, /, worker: WorkerRef, *, reason: str | None = None, idempotency_key: str | None = None
) -> Op[Worker]:
    """Mark a worker as gone."""
    return workers.retire_worker(caller, worker_uid(worker), reason, idempotency_key)


# Identity ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new access token with its secret, which is shown this once: only its SHA-256 is kept."""

    access_token: AccessToken
    secret: Token


def create_principal(caller: Caller, /, name: str, **spec: Any) -> Op[Principal]:
    """Create a principal, such as ``user:ada``, with its roles; the same again changes nothing."""
    return principals.create_principal(caller, validated(PrincipalSpec, name=name, **spec))


def change_principal(caller: Caller, /, principal: PrincipalRef, **changes: Any) -> Op[Principal]:
    """Change a principal's roles, display name, status or outside identity."""
    change = validated(PrincipalChange, **changes)
    return (yield from principals.change_principal(caller, (yield from _principal_uid(caller, principal)), change))


def disable_principal(caller: Caller, /, principal: PrincipalRef, *, reason: str | None = None) -> Op[Principal]:
    """Let a principal do nothing any more: its tokens prove nothing, its sessions end."""
    return change_principal(caller, principal, status=PrincipalStatus.DISABLED, reason=reason)


def enable_principal(caller: Caller, /, principal: PrincipalRef, *, reason: str | None = None) -> Op[Principal]:
    """Undo disabling: tokens that have not run out prove it again."""
    return change_principal(caller, principal, status=PrincipalStatus.ACTIVE, reason=reason)


def set_password(caller: Caller, /, principal: PrincipalRef, password: str) -> Op[Principal]:
    """Set the password that a person signs in with; kept as argon2id hash. Its sessions end."""
    return set_password_hash(caller, principal, password_hash(password))


def set_password_hash(caller: Caller, /, principal: PrincipalRef, hashed: str) -> Op[Principal]:
    """The same with a password that was hashed before (argon2id), elsewhere or beside the event loop."""
    return (yield from principals.set_password(caller, (yield from _principal_uid(caller, principal)), hashed))


def principal(caller: Caller, /, principal: PrincipalRef) -> Op[Principal]:
    """One principal, by name or EUID."""
    return (yield from principals.known(caller, (yield from _principal_uid(caller, principal))))


def principals_all(caller: Caller, /, *, limit: int = 1000, after: str = "") -> Op[list[Principal]]:
    """Principals in order of their names, from one on."""
    return caller.store.principals(caller.tenant, limit, after)


def create_token(caller: Caller, /, principal: PrincipalRef, **spec: Any) -> Op[IssuedToken]:
    """Create an access token for a principal. Its secret is in the answer and nowhere else."""
    asked = validated(AccessTokenSpec, **spec)
    uid = yield from _principal_uid(caller, principal)
    secret = Token.access()
    return IssuedToken((yield from access_tokens.create_token(caller, uid, asked, secret.digest)), secret)


def revoke_token(caller: Caller, /, token: TokenRef, *, reason: str | None = None) -> Op[AccessToken]:
    """Make a token prove nothing any more."""
    return access_tokens.revoke_token(caller, access_token_uid(token), reason)


def tokens(
    caller: Caller, /, principal: PrincipalRef | None = None, *, usable: bool = True, limit: int = 100,
    before: int | None = None,
) -> Op[list[AccessToken]]:  # fmt: skip
    """Access tokens, newest first: those that still prove something, or all."""
    uid = (yield from _principal_uid(caller, principal)) if principal is not None else None
    return (yield from caller.store.access_tokens(caller.tenant, limit, principal=uid, usable=usable, before=before))


def _principal_uid(caller: Caller, reference: PrincipalRef) -> Op[int]:
    if isinstance(reference, Principal):
        return reference.uid
    if isinstance(reference, str) and ":" in reference:
        return (yield from principals.named(caller, reference)).uid
    return uid_of(reference)


# Work ----------------------------------------------------------------------------------------------------------------
def submit(caller: Caller, /, **request: Any) -> Op[ActionResult]:
    """Create a subject and enqueue it; the fields are those of ``SubmitSubject``."""
    return submit_action.submit(caller, validated(SubmitSubject, **request))


def submit_many(caller: Caller, /, requests: Iterable[Mapping[str, Any] | SubmitSubject]) -> Op[list[Outcome]]:
    """Create many in one transaction; a result or an error for each."""
    parsed = [r if isinstance(r, SubmitSubject) else validated(SubmitSubject, **r) for r in requests]
    return submit_action.submit_many(caller, parsed)


def claim(
    caller: Caller, /, worker: Worker, queue_key: str, *, limit: int = 1, start: bool = False, subject: SubjectRef | None = None,
    ttl_seconds: int | None = None, idempotency_key: str | None = None, token: Token | None = None,
    hint: ScanHint | None = None, expected_state: str | None = None, expected_revision: int | None = None,
) -> Op[list[Lease]]:  # fmt: skip
    """Take up to ``limit`` subjects, or the one named, under lease; ``start`` makes them RUNNING at once.

    With an ``idempotency_key`` goes a ``token``: sent again, the claim is answered with the leases of the first.
    """
    if idempotency_key is not None and token is None:
        raise InvalidRequest(
            "A claim with an idempotency_key needs its token.",
            "Draw a Token first and send it with the key each time: the leases can be used with the first one only.",
        )
    token = token if token is not None else Token()
    request = validated(
        ClaimItems, worker=worker.uid, incarnation=worker.incarnation, queue_key=queue_key, token_hash=token.digest,
        limit=limit, subject=subject_uid(subject) if subject is not None else None, start=start, ttl_seconds=ttl_seconds,
        idempotency_key=idempotency_key, expected_state=expected_state, expected_revision=expected_revision,
    )  # fmt: skip
    taken = yield from claim_action.claim(caller, request, hint)
    return [Lease(item, token) for item in taken.items]


def _holder(lease: Lease | LeaseRef, worker: WorkerRef | None, token: Token | str | None) -> dict[str, Any]:
    if isinstance(lease, Lease):
        return {"lease": lease.lease, "worker": lease.item.worker, "token_hash": lease.token.digest}
    holder = worker_uid(worker) if worker is not None else (lease.worker if isinstance(lease, Claimed) else 0)
    return {"lease": lease_uid(lease), "worker": holder, "token_hash": digest_of(token or "")}


def start(
    caller: Caller,
    /,
    lease: Lease | LeaseRef,
    *,
    worker: WorkerRef | None = None,
    token: Token | str | None = None,
    **guards: Any,
) -> Op[ActionResult]:
    """Begin the work under a lease."""
    return start_action.start(caller, validated(StartExecution, **_holder(lease, worker, token), **guards))


def dispatch_external(
    caller: Caller,
    /,
    lease: Lease | LeaseRef,
    *,
    worker: WorkerRef | None = None,
    token: Token | str | None = None,
    **fields: Any,
) -> Op[ActionResult]:
    """Tell that the work goes on outside; the lease lasts until its deadline, or until someone reconciles."""
    return dispatch_action.dispatch(caller, validated(DispatchExternal, **_holder(lease, worker, token), **fields))


def renew(
    caller: Caller,
    /,
    lease: Lease | LeaseRef,
    *,
    worker: WorkerRef | None = None,
    token: Token | str | None = None,
    **fields: Any,
) -> Op[ActionResult]:
    """Hold on to a lease."""
    return renew_action.renew(caller, validated(RenewLease, **_holder(lease, worker, token), **fields))


def release_lease(
    caller: Caller,
    /,
    lease: Lease | LeaseRef,
    *,
    worker: WorkerRef | None = None,
    token: Token | str | None = None,
    **fields: Any,
) -> Op[ActionResult]:
    """Give the work back undone."""
    return release.release(caller, validated(ReleaseLease, **_holder(lease, worker, token), **fields))


def complete(
    caller: Caller,
    /,
    lease: Lease | LeaseRef,
    *,
    worker: WorkerRef | None = None,
    token: Token | str | None = None,
    **fields: Any,
) -> Op[ActionResult]:
    """Report the work as done; ``next_queue_key`` sends the subject on."""
    return complete_action.complete(caller, validated(CompleteExecution, **_holder(lease, worker, token), **fields))


def fail(
    caller: Caller, /, lease: Lease | LeaseRef, *, worker: WorkerRef | None = None, token: Token | str | None = None,
    retryable: bool | None = None, **fields: Any,
) -> Op[ActionResult]:  # fmt: skip
    """Report the work as failed. ``retryable`` stands for the plain classes where ``error_class`` is not given."""
    if retryable is not None and "error_class" not in fields:
        fields["error_class"] = ErrorClass.TRANSIENT_SYSTEM if retryable else ErrorClass.PERMANENT_STATE
    return fail_action.fail(caller, validated(FailExecution, **_holder(lease, worker, token), **fields))


def defer(
    caller: Caller, /, lease: Lease | LeaseRef, *, until: datetime, worker: WorkerRef | None = None,
    token: Token | str | None = None, **guards: Any,
) -> Op[ActionResult]:  # fmt: skip
    """Put the work off without spending an attempt."""
    return defer_action.defer(caller, validated(DeferExecution, **_holder(lease, worker, token), until=until, **guards))


# Operating -----------------------------------------------------------------------------------------------------------
def hold(
    caller: Caller, /, subject: SubjectRef, *, reason: str, hold_code: str = "OPERATOR", **guards: Any
) -> Op[ActionResult]:
    """Stop the line for a subject."""
    request = validated(PlaceHold, subject=subject_uid(subject), reason=reason, hold_code=hold_code, **guards)
    return hold_action.hold(caller, request)


def release_hold(
    caller: Caller, /, subject: SubjectRef, *, hold: int | str | None = None, reason: str | None = None, **guards: Any
) -> Op[ActionResult]:
    """Let go of one hold, or of the only one."""
    which = uid_of(hold) if hold is not None else None
    request = validated(ReleaseHold, subject=subject_uid(subject), hold=which, reason=reason, **guards)
    return release_hold_action.release_hold(caller, request)


def requeue(caller: Caller, /, subject: SubjectRef, **fields: Any) -> Op[ActionResult]:
    """Route a subject (again); a terminal one needs ``reopen=True``."""
    return requeue_action.requeue(caller, validated(RequeueSubject, subject=subject_uid(subject), **fields))


def cancel(caller: Caller, /, subject: SubjectRef, **fields: Any) -> Op[ActionResult]:
    """End a subject for good."""
    return cancel_action.cancel(caller, validated(CancelSubject, subject=subject_uid(subject), **fields))


def resolve_dead_letter(caller: Caller, /, subject: SubjectRef, *, reason: str, **fields: Any) -> Op[ActionResult]:
    """Close the open dead letter of a subject without running it again."""
    request = validated(ResolveDeadLetter, subject=subject_uid(subject), reason=reason, **fields)
    return resolve_action.resolve(caller, request)


def expire_lease(
    caller: Caller, /, lease: LeaseRef, *, force: bool = False, reason: str | None = None, **guards: Any
) -> Op[ActionResult]:
    """Mark a lapsed lease EXPIRED; ``force`` (admin) ends a live one."""
    return expire_action.expire(
        caller, validated(ExpireLease, lease=lease_uid(lease), force=force, reason=reason, **guards)
    )


def sweep(caller: Caller, /, queue_key: str | None = None, limit: int = 500) -> Op[list[ActionResult]]:
    """Mark lapsed leases EXPIRED, of one queue or all; for observability only."""
    return expire_action.sweep(caller, queue_key, limit)


# Reading -------------------------------------------------------------------------------------------------------------
def why(caller: Caller, /, subject: SubjectRef) -> Op[list[Reason]]:
    """Exact reasons for which a subject is not moving, or who could take it."""
    return reading.why(caller, subject_uid(subject))


def inspect(caller: Caller, /, subject: SubjectRef) -> Op[reading.Standing]:
    """The subject as it stands, with the reasons."""
    return reading.standing(caller, subject_uid(subject))


def history(caller: Caller, /, subject: SubjectRef) -> Op[History]:
    """Everything that happened to a subject, in order."""
    return reading.history(caller, subject_uid(subject))


def as_of(
    caller: Caller, /, subject: SubjectRef, *, seq: int | None = None, at: datetime | None = None
) -> Op[Envelope]:
    """The envelope as it was after fact ``seq``, or at a time."""
    return (yield from reading.as_of(caller, subject_uid(subject), seq=seq, at=at)).envelope


def find_subject(caller: Caller, /, external_ref: str) -> Op[int | None]:
    """The uid of the subject that carries this external_ref."""
    return caller.store.find_subject(caller.tenant, external_ref)


def facts(caller: Caller, /, thread: SubjectRef, *, after_seq: int = 0, limit: int = 1000) -> Op[list[Fact]]:
    """The facts of a thread of the tenant's, in order."""
    found = yield from caller.store.facts(subject_uid(thread), after_seq, limit)
    return [fact for fact in found if fact.tenant == caller.tenant]


def queue(caller: Caller, /, queue_key: str) -> Op[Queue | None]:
    """One queue by key."""
    return (yield from caller.store.queues(caller.tenant, [queue_key])).get(queue_key)


def queues_all(caller: Caller, /) -> Op[list[Queue]]:
    """All active queues, the most urgent first."""
    found = yield from caller.store.queues(caller.tenant)
    return sorted(found.values(), key=lambda q: (-q.dispatch_priority, q.queue_key))


def queue_items(caller: Caller, /, queue_key: str, *, limit: int = 50, after: OrderKey | None = None) -> Op[list[Item]]:
    """Visible subjects of a queue in execution order."""
    return caller.store.items(caller.tenant, queue_key, limit, after)


def chosen_items(
    caller: Caller, /, queue_key: str, *, site: str | None = None, platform: str | None = None, assay: str | None = None,
    states: Sequence[State] | None = None, limit: int = 50, after: OrderKey | None = None,
) -> Op[ItemPage]:  # fmt: skip
    """Visible subjects of a queue that fit, in execution order. Go on after ``next_after`` until that is None."""
    chosen = ItemFilter(site, platform, assay, states)
    _at_least_one(limit)
    return caller.store.chosen_items(caller.tenant, queue_key, chosen, limit, after)


def find_subjects(
    caller: Caller, /, *, subject: SubjectRef | None = None, external_ref: str | None = None, name: str | None = None,
    correlation_id: str | None = None, states: Sequence[State] | None = None, queue_key: str | None = None,
    limit: int = 50, before: int | None = None,
) -> Op[SubjectPage]:  # fmt: skip
    """Subjects to which all that is given fits, newest first; ``name`` is how the name begins.

    Go on below ``next_before`` until that is None: a page may be short, or empty, before that.
    """
    uid = subject_uid(subject) if subject is not None else None
    chosen = SubjectFilter(uid, external_ref, name, correlation_id, states, queue_key)
    _at_least_one(limit)
    return caller.store.find_subjects(caller.tenant, chosen, limit, before)


def _at_least_one(limit: int) -> None:
    if limit < 1:
        raise InvalidRequest("limit must be at least 1.", "Ask for at least one.")


def metrics(
    caller: Caller, /, queue_keys: Sequence[str] | None = None, *, window_seconds: float = 300
) -> Op[list[QueueCounts]]:
    """S1's 16 metrics for each queue."""
    keys = list(queue_keys) if queue_keys is not None else sorted((yield from caller.store.queues(caller.tenant)))
    return (yield from caller.store.counts(caller.tenant, keys, window_seconds))


def sample_queues(
    caller: Caller, /, *, min_interval_seconds: float = 60, window_seconds: float = 300
) -> Op[list[QueueSample]]:
    """Count all queues and keep the counts for 7 days, unless that was done within the interval: then nothing.

    Call it as often as you like, from any number of processes: one of them samples.
    """
    return caller.store.sample_queues(caller.tenant, min_interval_seconds, window_seconds)


def queue_samples(caller: Caller, /, queue_key: str, *, since: datetime, limit: int = 500) -> Op[list[QueueSample]]:
    """The samples of a queue since a time, in order, thinned evenly where there are more than ``limit``."""
    _at_least_one(limit)
    if since.tzinfo is None:
        raise NaiveDatetime("since has no time zone.", "Give an aware datetime, such as datetime.now(UTC).")
    return caller.store.samples(caller.tenant, queue_key, since, limit)


def latest_metrics(
    caller: Caller, /, queue_keys: Sequence[str] | None = None, *, max_age_seconds: float = 60, window_seconds: float = 300
) -> Op[list[QueueSample]]:  # fmt: skip
    """S1's 16 metrics for each queue, from samples that are at most so old; counted now where there is none."""
    keys = list(queue_keys) if queue_keys is not None else sorted((yield from caller.store.queues(caller.tenant)))
    fresh = {
        s.counts.queue_key: s for s in (yield from caller.store.latest_counts(caller.tenant, keys, max_age_seconds))
    }
    missing = [key for key in keys if key not in fresh]
    if missing:
        now = yield from caller.store.clock()
        for counts in (yield from caller.store.counts(caller.tenant, missing, window_seconds)):
            fresh[counts.queue_key] = QueueSample(now, window_seconds, counts)
    return [fresh[key] for key in keys if key in fresh]


def workers_all(caller: Caller, /) -> Op[list[Worker]]:
    """All workers that are not retired."""
    return caller.store.workers(caller.tenant)


def worker_loads(caller: Caller, /) -> Op[list[WorkerLoad]]:
    """All workers that are not retired, each with the number of ACTIVE leases that it holds."""
    held = yield from caller.store.live_by_worker(caller.tenant)
    return [WorkerLoad(worker, held.get(worker.uid, 0)) for worker in (yield from caller.store.workers(caller.tenant))]


def leases(
    caller: Caller, /, status: LeaseStatus | None = LeaseStatus.ACTIVE, *, limit: int = 100, before: int | None = None,
    queue_key: str | None = None, worker: WorkerRef | None = None,
) -> Op[list[LeaseRow]]:  # fmt: skip
    """Leases, newest first."""
    holder = worker_uid(worker) if worker is not None else None
    return caller.store.leases(caller.tenant, status, limit, before, queue_key, holder)


def dead_letters(
    caller: Caller, /, *, open_only: bool = True, limit: int = 100, before: int | None = None,
    queue_key: str | None = None,
) -> Op[list[DeadLetterRow]]:  # fmt: skip
    """Dead letters, newest first."""
    return caller.store.dead_letters(
        caller.tenant, open_only=open_only, limit=limit, before=before, queue_key=queue_key
    )


def holds(
    caller: Caller, /, *, active_only: bool = True, limit: int = 100, before: int | None = None,
    queue_key: str | None = None,
) -> Op[list[HoldRow]]:  # fmt: skip
    """Holds, newest first."""
    return caller.store.holds(caller.tenant, active_only=active_only, limit=limit, before=before, queue_key=queue_key)


def lineage(caller: Caller, /, thing: SubjectRef) -> Op[list[Edge]]:
    """The edges at one object, both ways."""
    return caller.store.lineage(caller.tenant, subject_uid(thing))


def verify(
    caller: Caller,
    /,
    *,
    subject: SubjectRef | None = None,
    sample: float | None = None,
    everything: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Op[Report]:
    """Check the evidence of the tenant (of all tenants with ``everything``), of one subject, or of a sample (0 to 1)."""
    uid = subject_uid(subject) if subject is not None else None
    tenant = None if everything else caller.tenant
    report = yield from verify_store(caller.store, tenant=tenant, subject=uid, sample=sample, progress=progress)
    flow = next((follower for follower in caller.followers if isinstance(follower, Flow)), None)
    if flow is not None and uid is None:
        yield from verify_runs(caller.store, flow, report, tenant=tenant, sample=sample)
    return report
