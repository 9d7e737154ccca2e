"""define_queue, update_queue_policy and retiring a queue (S1 section 2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from tenure.model import fact_types as ft
from tenure.model.errors import InvalidRequest, RevisionConflict
from tenure.model.fact import Fact, check_data
from tenure.model.json_text import payload_hash
from tenure.model.queue import MUTABLE, Queue, QueuePolicy
from tenure.model.requests import invalid

_PARTS = ("/items", "/samples")


def decide_define(
    policy: QueuePolicy, uid: int, tenant: int, now: datetime, actor: str, key: str | None
) -> tuple[Queue, Fact]:
    """A new queue and the fact ``queue.defined``.

    Raises InvalidRequest for a key of which an address, ``/queues/KEY/items``, could not say whether it ends there.
    """
    if policy.queue_key.endswith(_PARTS):
        raise InvalidRequest(
            f"A queue's key cannot end in {' or '.join(_PARTS)}: {policy.queue_key!r}.",
            "Over HTTP that is what is in a queue, and how it went. Choose another key.", queue_key=policy.queue_key,
        )  # fmt: skip
    queue = Queue(**policy.model_dump(), uid=uid, tenant=tenant, revision=1, seq=1, created_at=now)
    return queue, _fact(queue, ft.QUEUE_DEFINED, {"policy": queue.policy()}, now, actor, key, b"")


def decide_update(
    queue: Queue, changes: Mapping[str, Any], now: datetime, actor: str, key: str | None, head: bytes,
    expected_revision: int | None = None,
) -> tuple[Queue, Fact | None]:  # fmt: skip
    """The changed queue and the fact ``queue.updated``.

    Where nothing changes there is no fact, unless there is a ``key`` to keep: then the fact tells of no change, and the
    revision stays.
    """
    if expected_revision is not None and expected_revision != queue.revision:
        raise RevisionConflict(
            f"Expected revision {expected_revision}, but queue {queue.queue_key!r} has {queue.revision}.",
            "Read it again and decide anew.", expected=expected_revision, actual=queue.revision,
        )  # fmt: skip
    if fixed := sorted(set(changes) - MUTABLE):
        raise InvalidRequest(
            f"{', '.join(fixed)} of a queue cannot be changed.",
            "Retire the queue and define a new one under the same key.", fields=fixed,
        )  # fmt: skip
    try:
        policy = QueuePolicy.model_validate(queue.policy() | dict(changes))
    except ValidationError as error:
        raise invalid(error, "queue") from None
    before, after = queue.policy(), policy.model_dump(mode="json")
    different = {name: value for name, value in after.items() if value != before[name]}
    if not different and key is None:
        return queue, None
    changed = Queue(
        **policy.model_dump(), uid=queue.uid, tenant=queue.tenant, seq=queue.seq + 1,
        revision=queue.revision + 1 if different else queue.revision,
        created_at=queue.created_at, retired_at=queue.retired_at,
    )  # fmt: skip
    return changed, _fact(changed, ft.QUEUE_UPDATED, {"set": different}, now, actor, key, head, dict(changes))


def decide_retire(
    queue: Queue, reason: str, now: datetime, actor: str, key: str | None, head: bytes
) -> tuple[Queue, Fact]:
    """The retired queue and the fact ``queue.retired``; its key is free for a replacement."""
    retired = queue.model_copy(
        update={"retired_at": now, "enabled": False, "revision": queue.revision + 1, "seq": queue.seq + 1}
    )
    return retired, _fact(retired, ft.QUEUE_RETIRED, {"reason": reason}, now, actor, key, head)


def _fact(
    queue: Queue, type_: str, data: dict[str, Any], now: datetime, actor: str, key: str | None, head: bytes,
    asked: Mapping[str, Any] | None = None,
) -> Fact:  # fmt: skip
    check_data(data)
    fact = Fact(
        thread=queue.uid, seq=queue.seq, type=type_, at=now, tenant=queue.tenant, actor=actor,
        revision=queue.revision, queue_key=queue.queue_key, data=data, idempotency_key=key,
        payload_hash=payload_hash(dict(asked) if asked is not None else data) if key else None,
    )  # fmt: skip
    return replace(fact, hash=fact.content_hash(head))
