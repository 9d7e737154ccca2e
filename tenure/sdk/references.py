"""What callers may give where an object is meant: its EUID, its uid, or a result that names it."""

from __future__ import annotations

from tenure.model.errors import InvalidEuid
from tenure.model.euid import parse_euid
from tenure.model.principal import AccessToken, Principal
from tenure.model.result import ActionResult
from tenure.model.worker import Worker
from tenure.store.records import Claimed

SubjectRef = int | str | ActionResult | Claimed
LeaseRef = int | str | Claimed
WorkerRef = int | str | Worker
PrincipalRef = int | str | Principal
TokenRef = int | str | AccessToken


def subject_uid(reference: SubjectRef) -> int:
    """The uid of the subject meant; ``InvalidEuid`` for what cannot be one."""
    return reference.subject if isinstance(reference, ActionResult | Claimed) else uid_of(reference)


def lease_uid(reference: LeaseRef) -> int:
    """The uid of the lease meant."""
    return reference.lease if isinstance(reference, Claimed) else uid_of(reference)


def worker_uid(reference: WorkerRef) -> int:
    """The uid of the worker meant."""
    return reference.uid if isinstance(reference, Worker) else uid_of(reference)


def access_token_uid(reference: TokenRef) -> int:
    """The uid of the access token meant."""
    return reference.uid if isinstance(reference, AccessToken) else uid_of(reference)


def uid_of(reference: int | str) -> int:
    """The uid behind a uid or an EUID."""
    if isinstance(reference, bool) or not isinstance(reference, int | str):
        raise InvalidEuid(f"{reference!r} names no object.", "Give an EUID such as SX-1T8Z.")
    return reference if isinstance(reference, int) else parse_euid(reference)
