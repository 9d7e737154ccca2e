"""A person at a prompt as a worker of their own (S1 section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.model.errors import InvalidRequest
from tenure.model.states import WorkerType
from tenure.model.worker import Worker
from tenure.sdk.client import Tenure

#: How long a person counts as online after the last command, in seconds; and how many subjects a person holds at most.
HEARTBEAT_SECONDS = 3600
MAX_LEASES = 10


def present(client: Tenure, worker_key: str, capabilities: Sequence[str] = (), sites: Sequence[str] = ()) -> Worker:
    """The person's worker, alive: registered at the first time, or where there is more to say of it.

    Raises InvalidRequest where the key is that of a service or an instrument.
    """
    known = next((worker for worker in client.workers() if worker.worker_key == worker_key), None)
    if known is not None and known.worker_type is not WorkerType.HUMAN_SESSION:
        raise InvalidRequest(
            f"The worker {worker_key!r} is no person's: it is a {known.worker_type}.", "Give another worker_key.",
        )  # fmt: skip
    if known is not None and set(capabilities) <= set(known.capabilities) and set(sites) <= set(known.site_scope):
        return client.heartbeat_worker(known, incarnation=known.incarnation)
    before = known if known is not None else None
    return client.register_worker(
        worker_key,
        worker_type=WorkerType.HUMAN_SESSION,
        capabilities=_joined(before.capabilities if before else (), capabilities),
        site_scope=_joined(before.site_scope if before else (), sites),
        max_concurrent_leases=MAX_LEASES,
        heartbeat_ttl_seconds=HEARTBEAT_SECONDS,
    )


def _joined(known: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*known, *more)))
