"""A person as a worker: the worker of that person, and the secret by which its leases are proved (S1 section 5.1)."""

from __future__ import annotations

import hashlib
import hmac

from tenure.engine.caller import Caller
from tenure.model.attempt import Attempt
from tenure.model.states import LeaseStatus, WorkerStatus, WorkerType
from tenure.model.worker import Worker
from tenure.sdk import operations as ops
from tenure.sdk.token import Token
from tenure.store.operation import Op

#: How long a person counts as online after the last look at the desk, and how many subjects a person holds at most.
HEARTBEAT_SECONDS = 120
MAX_LEASES = 10
_PURPOSE = b"tenure: leases of a person's desk"


def desk_token(cookie: str) -> Token:
    """The secret of all leases that are taken in one session. It follows from the session's cookie: nothing is stored,
    and whoever signs out can finish nothing any more.
    """
    return Token(hmac.new(cookie.encode(), _PURPOSE, hashlib.sha256).hexdigest())


def key_of(actor: str) -> str:
    """The worker_key of a person."""
    return actor


def worker_of(caller: Caller) -> Op[Worker | None]:
    """The person's worker, where there is one that was not retired."""
    found = yield from caller.store.worker(caller.tenant, key=key_of(caller.actor))
    if found is None or found.status is WorkerStatus.RETIRED or found.owner != caller.principal:
        return None  # one of the same key that others registered is not to be had: registering says so
    return found


def present(caller: Caller, display_name: str) -> Op[Worker]:
    """The person's worker, registered at the first time, and alive."""
    worker = yield from worker_of(caller)
    if worker is None:
        return (
            yield from ops.register_worker(
                caller, key_of(caller.actor), worker_type=WorkerType.HUMAN_SESSION, display_name=display_name,
                max_concurrent_leases=MAX_LEASES, heartbeat_ttl_seconds=HEARTBEAT_SECONDS, host="/ui",
            )
        )  # fmt: skip
    return (yield from ops.heartbeat_worker(caller, worker, incarnation=worker.incarnation))


def held(caller: Caller) -> Op[list[Attempt]]:
    """What the person holds."""
    worker = yield from worker_of(caller)
    if worker is None:
        return []
    rows = yield from ops.leases(caller, LeaseStatus.ACTIVE, worker=worker, limit=MAX_LEASES * 2)
    return [row.attempt for row in rows]
