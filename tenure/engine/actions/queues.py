"""define_queue, update_queue_policy, retire_queue, and the templates that queues serve (S1 section 2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenure.engine.caller import Caller
from tenure.engine.json_schema import schema_problem
from tenure.engine.logging import told
from tenure.model import fact_types as ft
from tenure.model.decisions.queues import decide_define, decide_retire, decide_update
from tenure.model.errors import AlreadyExists, IdempotencyConflict, InvalidRequest, QueueUnknown
from tenure.model.json_text import payload_hash
from tenure.model.queue import Queue, QueuePolicy
from tenure.store.operation import Op
from tenure.store.records import Template


def define_template(caller: Caller, code: str, schema: Mapping[str, Any] | None = None) -> Op[Template]:
    """The template, created if new; ``AlreadyExists`` where it has another schema, ``InvalidRequest`` for a bad schema."""
    return told(caller, "define_template", _template(caller, code, schema), lambda _: {})


def _template(caller: Caller, code: str, schema: Mapping[str, Any] | None) -> Op[Template]:
    problem = schema_problem(dict(schema or {}))
    if problem is not None:
        raise InvalidRequest(f"The schema of {code!r} is none: {problem}.", "Give a JSON Schema (2020-12).")
    return (yield from caller.store.define_template(caller.tenant, code, schema or {}, caller.actor))


def define_queue(caller: Caller, policy: QueuePolicy, idempotency_key: str | None = None) -> Op[Queue]:
    """A new queue; the same definition again is answered from what is, another one is ``AlreadyExists``.

    Templates that it serves and that do not exist yet are defined, without a schema.
    """
    key, op = policy.queue_key, _defined(caller, policy, idempotency_key)
    return told(caller, "define_queue", op, _describe, queue_key=key, idempotency_key=idempotency_key)


def _defined(caller: Caller, policy: QueuePolicy, idempotency_key: str | None) -> Op[Queue]:
    try:
        return (yield from caller.store.transaction(_define(caller, policy, idempotency_key)))
    except AlreadyExists:
        # Another process may have defined it at the same moment: then it is there now, and either the same or not.
        return (yield from caller.store.transaction(_define(caller, policy, idempotency_key)))


def _define(caller: Caller, policy: QueuePolicy, key: str | None) -> Op[Queue]:
    known = yield from caller.store.templates(caller.tenant, policy.subject_template_codes)
    for code in policy.subject_template_codes:
        if code not in known:
            yield from caller.store.define_template(caller.tenant, code, {}, caller.actor)
    existing = (yield from caller.store.queues(caller.tenant, [policy.queue_key], lock=True)).get(policy.queue_key)
    if existing is not None:
        if existing.policy() != policy.model_dump(mode="json"):
            raise AlreadyExists(
                f"Queue {policy.queue_key!r} exists with another policy.", "Change it with update_queue_policy.",
                queue_key=policy.queue_key,
            )  # fmt: skip
        return existing
    uid = (yield from caller.store.fresh_uids(1))[0]
    now = yield from caller.store.clock()
    queue, fact = decide_define(policy, uid, caller.tenant, now, caller.actor, key)
    yield from caller.store.write_queue(queue, fact, new=True)
    return queue


def update_queue_policy(
    caller: Caller, queue_key: str, changes: Mapping[str, Any], *, expected_revision: int | None = None,
    idempotency_key: str | None = None,
) -> Op[Queue]:  # fmt: skip
    """The queue after the changes; key and templates never change."""
    op = caller.store.transaction(_update(caller, queue_key, changes, expected_revision, idempotency_key))
    key = idempotency_key
    return told(caller, "update_queue_policy", op, _describe, queue_key=queue_key, idempotency_key=key)


def _update(
    caller: Caller, queue_key: str, changes: Mapping[str, Any], expected_revision: int | None, key: str | None
) -> Op[Queue]:
    queue = yield from _locked(caller, queue_key)
    if key is not None:
        before = yield from caller.store.prior_fact(queue.uid, (ft.QUEUE_UPDATED,), key)
        if before is not None:
            if before.payload_hash != payload_hash(dict(changes)):
                raise IdempotencyConflict("This idempotency key was used before with other changes.", "Use a new key.")
            return queue
    now = yield from caller.store.clock()
    _, head = yield from caller.store.head(queue.uid)
    changed, fact = decide_update(queue, changes, now, caller.actor, key, head, expected_revision)
    if fact is not None:
        yield from caller.store.write_queue(changed, fact, new=False)
    return changed


def retire_queue(caller: Caller, queue_key: str, reason: str, idempotency_key: str | None = None) -> Op[Queue]:
    """The retired queue: it takes no more claims, and its key is free for a replacement.

    Sent again under the same idempotency key, it is answered from before and leaves the replacement alone.
    """
    key, op = idempotency_key, caller.store.transaction(_retire(caller, queue_key, reason, idempotency_key))
    return told(caller, "retire_queue", op, _describe, queue_key=queue_key, idempotency_key=key)


def _describe(queue: Queue) -> dict[str, Any]:
    return {"queue_key": queue.queue_key, "seq": queue.seq}


def _retire(caller: Caller, queue_key: str, reason: str, key: str | None) -> Op[Queue]:
    if key is not None and (before := (yield from _retired_before(caller, queue_key, reason, key))) is not None:
        return before
    queue = yield from _locked(caller, queue_key)
    now = yield from caller.store.clock()
    _, head = yield from caller.store.head(queue.uid)
    retired, fact = decide_retire(queue, reason, now, caller.actor, key, head)
    yield from caller.store.write_queue(retired, fact, new=False)
    return retired


def _retired_before(caller: Caller, queue_key: str, reason: str, key: str) -> Op[Queue | None]:
    retired = yield from caller.store.retired_queue(caller.tenant, queue_key, key)
    if retired is None:
        return None
    fact = yield from caller.store.prior_fact(retired.uid, (ft.QUEUE_RETIRED,), key)
    if fact is None or fact.payload_hash != payload_hash({"reason": reason}):
        raise IdempotencyConflict("This idempotency key was used before with another reason.", "Use a new key.",
                                  idempotency_key=key)  # fmt: skip
    return retired


def _locked(caller: Caller, queue_key: str) -> Op[Queue]:
    queue = (yield from caller.store.queues(caller.tenant, [queue_key], lock=True)).get(queue_key)
    if queue is None:
        raise QueueUnknown(
            f"There is no queue {queue_key!r}.", "Define it first, or correct the key.", queue_key=queue_key
        )
    return queue
