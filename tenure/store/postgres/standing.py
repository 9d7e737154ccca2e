"""A claim that a worker leaves with the database while it waits, and what it is told when a submission answers it.

The submission takes its subject for the worker within its own transaction, so that a single job is under lease with one
commit (docs/decisions/0023). Only on PostgreSQL, and only for a worker that listens there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pydantic_core import from_json

from tenure.model.states import State
from tenure.store.records import Claimed


@dataclass(frozen=True, slots=True)
class StandingClaim:
    """As ``ClaimItems``, of one subject each time, from any of several queues.

    It is answered for as long as a session holds the advisory lock ``spot`` and listens on ``channel``, which only those
    know who may read the worker's leases anyway.
    """

    worker: int
    incarnation: int
    queue_keys: Sequence[str]
    token_hash: bytes
    actor: str
    ttl_seconds: int | None
    spot: int
    channel: str


class Answer(NamedTuple):
    """What came over the channel."""

    lease: int
    moment: float
    """Before it was taken, by the server's own clock (seconds since 1970)."""
    item: Claimed | None
    """None where it was too long to be sent."""


def answer(claim: StandingClaim, payload: str) -> Answer:
    """Read what ``tenure.submit_one`` sent. Raises ValueError, TypeError or ArithmeticError for anything else."""
    queue_key, moment, lease, *rest = from_json(payload, allow_inf_nan=False)
    return Answer(int(lease), float(moment), _claimed(claim, queue_key, lease, rest) if rest else None)


def _claimed(claim: StandingClaim, queue_key: str, lease: int, rest: list[Any]) -> Claimed:
    subject, at, ttl, action_key, priority, template, name, external_ref, properties, payload_ref, correlation_id = rest
    claimed_at = datetime.fromisoformat(at)
    return Claimed(
        lease, subject, queue_key, claim.worker, 1, State.RUNNING, 2, 2, 1, claimed_at, claimed_at + timedelta(seconds=ttl),
        ttl, True, template, name, external_ref, action_key, priority, properties, payload_ref, correlation_id,
    )  # fmt: skip
