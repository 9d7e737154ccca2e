"""Tenants, templates, queues and workers: the things that rarely change, each with a thread of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from tenure.model import fact_types as ft
from tenure.model.errors import AlreadyExists, NotFound
from tenure.model.fact import Fact
from tenure.model.json_text import canonical_json
from tenure.model.queue import Queue
from tenure.model.worker import Worker
from tenure.store.operation import Begin, Commit, Op, Rollback, Statement
from tenure.store.postgres import rows
from tenure.store.records import Template

T = TypeVar("T")


class Registry:
    """The registry part of the store port, and transactions."""

    def transaction(self, body: Op[T]) -> Op[T]:
        """See ``Store.transaction``."""
        yield Begin()
        try:
            value = yield from body
        except Exception:
            yield Rollback()
            raise
        yield Commit()
        return value

    def clock(self) -> Op[datetime]:
        """See ``Store.clock``."""
        now: datetime = (yield Statement("clock"))[0]["now"]
        return now

    def fresh_uids(self, count: int) -> Op[list[int]]:
        """See ``Store.fresh_uids``."""
        return [row["uid"] for row in (yield Statement("fresh_uids", {"count": count}))]

    def tenant(self, key: str, *, create: bool, actor: str) -> Op[int | None]:
        """See ``Store.tenant``."""
        while not (found := (yield Statement("tenant", {"key": key}))):
            if not create:
                return None
            fresh = (yield from self.fresh_uids(1))[0]
            now = yield from self.clock()
            fact = Fact(
                thread=fresh, seq=1, type=ft.TENANT_CREATED, at=now, tenant=fresh, actor=actor, data={"key": key}
            )
            yield Statement("insert_tenant", {"uid": fresh, "key": key} | fact_params(_hashed(fact, b"")))
        uid: int = found[0]["uid"]
        return uid

    def templates(self, tenant: int, codes: Iterable[str] | None = None) -> Op[dict[str, Template]]:
        """See ``Store.templates``."""
        wanted = sorted(codes) if codes is not None else None
        found = yield Statement("templates", {"tenant": tenant, "codes": wanted})
        return {row["code"]: Template(**row) for row in found}

    def define_template(self, tenant: int, code: str, schema: Mapping[str, Any], actor: str) -> Op[Template]:
        """See ``Store.define_template``."""
        return (yield from self.transaction(self._define_template(tenant, code, schema, actor)))

    def _define_template(self, tenant: int, code: str, schema: Mapping[str, Any], actor: str) -> Op[Template]:
        owner = yield Statement("lock_tenant", {"uid": tenant})
        if not owner:
            raise NotFound("There is no such tenant.", "Create it first.")
        known = (yield from self.templates(tenant, [code])).get(code)
        if known is not None:
            if canonical_json(known.properties_schema) != canonical_json(schema):
                raise AlreadyExists(
                    f"Template {code!r} exists with another schema.", "Templates are immutable: define a new version.",
                    code=code,
                )  # fmt: skip
            return known
        uid = (yield from self.fresh_uids(1))[0]
        now = yield from self.clock()
        fact = _hashed(
            Fact(thread=tenant, seq=owner[0]["seq"] + 1, type=ft.TEMPLATE_DEFINED, at=now, tenant=tenant, actor=actor,
                 data={"code": code, "template": uid}),
            bytes(owner[0]["head"]),
        )  # fmt: skip
        params = fact_params(fact) | {"uid": uid, "code": code, "schema": canonical_json(schema), "tenant": tenant}
        yield Statement("insert_template", params)
        return Template(uid, tenant, code, dict(schema))

    def queues(self, tenant: int, keys: Iterable[str] | None = None, *, lock: bool = False) -> Op[dict[str, Queue]]:
        """See ``Store.queues``."""
        wanted = sorted(keys) if keys is not None else None
        found = yield Statement("lock_queues" if lock else "queues", {"tenant": tenant, "keys": wanted})
        return {row["queue_key"]: rows.queue(row) for row in found}

    def write_queue(self, queue: Queue, fact: Fact, *, new: bool) -> Op[None]:
        """See ``Store.write_queue``."""
        params = queue.model_dump() | fact_params(fact)
        params |= {
            "head": fact.hash, "eligible_states": [str(s) for s in queue.eligible_states],
            "retry_policy": queue.retry_policy.model_dump_json(),
            **{name: list(params[name]) for name in _LISTS if name in params},
        }  # fmt: skip
        written = yield Statement("insert_queue" if new else "update_queue", params)
        if not written:
            raise AlreadyExists(f"Queue {queue.queue_key!r} was defined meanwhile.", "Read it and decide anew.")

    def worker(
        self, tenant: int, *, uid: int | None = None, key: str | None = None, lock: bool = False
    ) -> Op[Worker | None]:
        """See ``Store.worker``."""
        found = yield Statement("lock_worker" if lock else "worker", {"tenant": tenant, "uid": uid, "key": key})
        return rows.worker(found[0]) if found else None

    def workers(self, tenant: int) -> Op[list[Worker]]:
        """See ``Store.workers``."""
        return [rows.worker(row) for row in (yield Statement("workers", {"tenant": tenant, "uids": None}))]

    def write_worker(self, worker: Worker, fact: Fact, *, new: bool) -> Op[None]:
        """See ``Store.write_worker``."""
        params = worker.model_dump() | fact_params(fact)
        params |= {
            "head": fact.hash, "worker_type": str(worker.worker_type), "status": str(worker.status),
            **{name: list(params[name]) for name in _LISTS if name in params},
        }  # fmt: skip
        written = yield Statement("insert_worker" if new else "update_worker", params)
        if not written:
            raise AlreadyExists(f"Worker {worker.worker_key!r} was registered meanwhile.", "Register again.")

    def beat(self, tenant: int, worker: int, incarnation: int, error_class: str | None) -> Op[Worker | None]:
        """See ``Store.beat``."""
        params = {"tenant": tenant, "uid": worker, "incarnation": incarnation, "error_class": error_class}
        found = yield Statement("beat", params)
        return rows.worker(found[0]) if found else None

    def retired_queue(self, tenant: int, queue_key: str, idempotency_key: str) -> Op[Queue | None]:
        """See ``Store.retired_queue``."""
        found = yield Statement("retired_queue", {"tenant": tenant, "queue_key": queue_key, "key": idempotency_key})
        return rows.queue(found[0]) if found else None

    def prior_fact(self, thread: int, types: Sequence[str], idempotency_key: str) -> Op[Fact | None]:
        """See ``Store.prior_fact``."""
        found = yield Statement("prior_fact", {"thread": thread, "types": list(types), "key": idempotency_key})
        return rows.fact(found[0]) if found else None

    def head(self, thread: int) -> Op[tuple[int, bytes]]:
        """See ``Store.head``."""
        found = yield Statement("thread_head", {"uid": thread})
        return (found[0]["seq"], bytes(found[0]["head"])) if found else (0, b"")


_LISTS = (
    "subject_template_codes", "required_worker_capabilities", "site_scope", "platform_scope", "assay_scope", "capabilities",
    "queues", "tasks", "workflows",
)  # fmt: skip


def _hashed(fact: Fact, previous: bytes) -> Fact:
    return replace(fact, hash=fact.content_hash(previous))


def fact_params(fact: Fact) -> dict[str, Any]:
    """What the statements that tell of an owner of a thread take of its fact."""
    return {
        "uid": fact.thread, "seq": fact.seq, "tenant": fact.tenant, "at": fact.at, "revision": fact.revision,
        "type": fact.type, "actor": fact.actor, "idempotency_key": fact.idempotency_key, "trace_id": fact.trace_id,
        "payload_hash": fact.payload_hash, "data": json.dumps(dict(fact.data or {})), "hash": fact.hash,
    }  # fmt: skip
