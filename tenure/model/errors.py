"""The one hierarchy of errors: a stable code, what happened, what to do next (design 01, The actions)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class TenureError(Exception):
    """Base of every error that Tenure raises on purpose.

    ``code`` is stable and machine readable, ``status`` the HTTP status that stands for it, ``message`` says what
    happened, ``hint`` what to do next, ``evidence`` the values that decided.
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500

    def __init__(self, message: str, hint: str = "", **evidence: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.evidence: Mapping[str, Any] = evidence

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def as_dict(self) -> dict[str, Any]:
        """The error as plain data: code, message, hint, evidence."""
        return {"code": self.code, "message": self.message, "hint": self.hint, "evidence": dict(self.evidence)}


class InvalidRequest(TenureError):
    """The request itself is malformed: a type, a range, a missing field."""

    code = "invalid_request"
    status = 400


class InvalidEuid(InvalidRequest):
    """An identifier that cannot be one: wrong form or wrong check character."""

    code = "invalid_euid"


class NaiveDatetime(InvalidRequest):
    """A time without a zone."""

    code = "naive_datetime"


class InvalidPayload(InvalidRequest):
    """Properties or results that break their schema or cannot be written as JSON."""

    code = "invalid_payload"
    status = 422


class ForbiddenKey(InvalidPayload):
    """A fact would carry content that belongs to the data tier (S4 section 4.3)."""

    code = "forbidden_key"


class PayloadTooLarge(InvalidPayload):
    """A fact would carry more than 10 KiB (S4 section 4.1)."""

    code = "payload_too_large"
    status = 413


class NotFound(TenureError):
    """No such object for this tenant."""

    code = "not_found"
    status = 404


class QueueUnknown(NotFound):
    """No active queue has this key."""

    code = "queue_unknown"


class Unauthenticated(TenureError):
    """Nobody has said who asks, or what was said proves nothing (design 06, HTTP API)."""

    code = "unauthenticated"
    status = 401


class RateLimited(TenureError):
    """Too many requests in a short time; ``retry_after`` in the evidence says in how many seconds to come back."""

    code = "rate_limited"
    status = 429


class Forbidden(TenureError):
    """The caller may not do this: another worker's lease, another token, a missing role."""

    code = "forbidden"
    status = 403


class Conflict(TenureError):
    """What was asked does not fit what is; nothing was changed."""

    code = "conflict"
    status = 409


class AlreadyExists(Conflict):
    """An object with this key is there already and differs."""

    code = "already_exists"


class MessageConflict(Conflict):
    """A message with this id was taken in before, and said something else (design 05, In)."""

    code = "message_conflict"


class InvalidTransition(Conflict):
    """The transition table has no such row (S1 section 4.3)."""

    code = "invalid_transition"


class StateConflict(Conflict):
    """``expected_state`` is not the present state (S1 section 7.5)."""

    code = "state_conflict"


class RevisionConflict(Conflict):
    """``expected_revision`` is not the present revision (S1 section 4.6)."""

    code = "revision_conflict"


class SeqConflict(Conflict):
    """``expected_seq`` is not the length of the thread (design 01, Facts)."""

    code = "seq_conflict"


class IdempotencyConflict(Conflict):
    """The same key came with another payload (S1 section 7.3)."""

    code = "idempotency_conflict"


class LeaseExpired(Conflict):
    """The lease ran out before the call (S1 section 8.1)."""

    code = "lease_expired"


class StaleLease(Conflict):
    """The lease has ended already, or its worker was superseded (design 01, Fencing)."""

    code = "stale_lease"


class WorkerSuperseded(StaleLease):
    """Another process has registered under the same worker_key since."""

    code = "worker_superseded"


class SubjectBusy(TenureError):
    """Another transaction holds the subject at this moment, and what was asked does not wait for it."""

    code = "subject_busy"
    status = 409


class NotClaimable(Conflict):
    """The subject that was asked for cannot be claimed now; the evidence holds the reasons."""

    code = "not_claimable"


class QueueDisabled(Conflict):
    """The queue takes no claims."""

    code = "queue_disabled"


class QueueManualOnly(Forbidden):
    """The queue is for people only (S1 section 3.5)."""

    code = "queue_manual_only"


class CapabilityMismatch(Forbidden):
    """The worker lacks a capability that the queue requires."""

    code = "capability_mismatch"


class ScopeMismatch(Forbidden):
    """The worker's site, platform or assay does not overlap the queue's."""

    code = "scope_mismatch"


class WorkerNotAccepting(Conflict):
    """The worker is draining, disabled or retired."""

    code = "worker_not_accepting"


class WorkerAtLimit(Conflict):
    """The worker already holds max_concurrent_leases."""

    code = "worker_at_limit"


class TemplateNotServed(Conflict):
    """The queue does not serve subjects of this template."""

    code = "template_not_served"
    status = 422


class LawViolation(TenureError):
    """The database refused a write that must never be (design 01, Facts)."""

    code = "law_violation"
    status = 409


class NotInstalled(TenureError):
    """Something is asked for that needs an optional package; the hint names the extra."""

    code = "not_installed"
    status = 501


class StoreUnavailable(TenureError):
    """The database cannot be reached or gave up; nothing is known to have changed."""

    code = "store_unavailable"
    status = 503


class SchemaChanged(StoreUnavailable):
    """A migration changed a table that the transaction read by a statement prepared before; nothing of it was kept."""

    code = "schema_changed"
