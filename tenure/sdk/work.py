"""What a client can do with subjects and the leases on them, written once as operations (S1 section 7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tenure.engine.acting import Outcome
from tenure.engine.actions import claim as claim_action
from tenure.engine.actions import complete as complete_action
from tenure.engine.actions import defer as defer_action
from tenure.engine.actions import dispatch as dispatch_action
from tenure.engine.actions import fail as fail_action
from tenure.engine.actions import release
from tenure.engine.actions import renew as renew_action
from tenure.engine.actions import start as start_action
from tenure.engine.actions import submit as submit_action
from tenure.engine.caller import Caller
from tenure.model.errors import InvalidRequest
from tenure.model.requests import (
    ClaimItems,
    CompleteExecution,
    DeferExecution,
    DispatchExternal,
    FailExecution,
    ReleaseLease,
    RenewLease,
    StartExecution,
    SubmitSubject,
    validated,
)
from tenure.model.result import ActionResult
from tenure.model.states import ErrorClass
from tenure.model.worker import Worker
from tenure.sdk.references import LeaseRef, SubjectRef, WorkerRef, lease_uid, subject_uid, worker_uid
from tenure.sdk.token import Token, digest_of
from tenure.store.operation import Op
from tenure.store.records import Claimed, ScanHint


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


def submit(caller: Caller, /, **request: Any) -> Op[ActionResult]:
    """Create a subject and enqueue it; the fields are those of ``SubmitSubject``."""
    return submit_action.submit(caller, validated(SubmitSubject, **request))


def submit_many(caller: Caller, /, requests: Iterable[Mapping[str, Any] | SubmitSubject]) -> Op[Sequence[Outcome]]:
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
