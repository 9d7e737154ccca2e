"""Tenants, templates, queues and workers of the memory store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tenure.model import fact_types as ft
from tenure.model.errors import AlreadyExists, NotFound
from tenure.model.fact import Fact
from tenure.model.json_text import canonical_json
from tenure.model.queue import Queue
from tenure.model.states import WorkerStatus
from tenure.model.worker import Worker
from tenure.store.memory.room import Room, operation
from tenure.store.records import Template


class Registry(Room):
    """What is defined before any work is done."""

    @operation
    def tenant(self, key: str, *, create: bool, actor: str) -> int | None:
        """See ``Store.tenant``."""
        data = self._data
        if key in data.tenants or not create:
            return data.tenants.get(key)
        uid = next(data.uids)
        data.tenants.put(key, uid)
        self._tell_next(uid, uid, ft.TENANT_CREATED, {"key": key}, actor)
        return uid

    @operation
    def templates(self, tenant: int, codes: Iterable[str] | None = None) -> dict[str, Template]:
        """See ``Store.templates``."""
        wanted = None if codes is None else set(codes)
        found = (t for t in self._data.templates.values() if t.tenant == tenant)
        return {t.code: t for t in sorted(found, key=lambda t: t.code) if wanted is None or t.code in wanted}

    @operation
    def define_template(self, tenant: int, code: str, schema: Mapping[str, Any], actor: str) -> Template:
        """See ``Store.define_template``."""
        known = self._data.templates.get((tenant, code))
        if known is not None:
            if canonical_json(known.properties_schema) != canonical_json(schema):
                raise AlreadyExists(
                    f"Template {code!r} exists with another schema.",
                    "Templates are immutable: define a new version.",
                    code=code,
                )
            return known
        if tenant not in self._data.tenants.values():
            raise NotFound("There is no such tenant.", "Create it first.")
        template = Template(next(self._data.uids), tenant, code, dict(schema))
        self._data.templates.put((tenant, code), template)
        self._tell_next(tenant, tenant, ft.TEMPLATE_DEFINED, {"code": code, "template": template.uid}, actor)
        return template

    @operation
    def queues(self, tenant: int, keys: Iterable[str] | None = None, *, lock: bool = False) -> dict[str, Queue]:
        """See ``Store.queues``. Where keys are given without ``lock``, also what was retired last under them."""
        data = self._data
        if keys is None:
            active = (q for q in data.queues.values() if q.tenant == tenant and q.retired_at is None)
            return {q.queue_key: q for q in sorted(active, key=lambda q: q.queue_key)}
        found = (data.active_queue(tenant, k) if lock else data.queue_of(tenant, k) for k in sorted(set(keys)))
        return {q.queue_key: q for q in found if q is not None}

    @operation
    def write_queue(self, queue: Queue, fact: Fact, *, new: bool) -> None:
        """See ``Store.write_queue``; ``AlreadyExists`` where an active queue has the key of a new one."""
        if new and self._data.active_queue(queue.tenant, queue.queue_key) is not None:
            raise AlreadyExists(f"Queue {queue.queue_key!r} exists already.", "Update its policy instead.")
        self._data.queues.put(queue.uid, queue)
        self._tell(fact)

    @operation
    def worker(
        self, tenant: int, *, uid: int | None = None, key: str | None = None, lock: bool = False
    ) -> Worker | None:
        """See ``Store.worker``."""
        return next(
            (w for w in self._workers(tenant) if (w.uid == uid if uid is not None else w.worker_key == key)), None
        )

    @operation
    def workers(self, tenant: int) -> list[Worker]:
        """See ``Store.workers``."""
        return [w for w in self._workers(tenant) if w.status is not WorkerStatus.RETIRED]

    @operation
    def write_worker(self, worker: Worker, fact: Fact, *, new: bool) -> None:
        """See ``Store.write_worker``; ``AlreadyExists`` where the key of a new one is taken."""
        if new and any(w.worker_key == worker.worker_key for w in self._workers(worker.tenant)):
            raise AlreadyExists(f"Worker {worker.worker_key!r} exists already.", "Register it again.")
        self._data.workers.put(worker.uid, worker)
        self._tell(fact)

    @operation
    def beat(self, tenant: int, worker: int, incarnation: int, error_class: str | None) -> Worker | None:
        """See ``Store.beat``. Telemetry, so no fact tells of it (S4 section 6.4)."""
        known = self._data.workers.get(worker)
        if (
            known is None
            or known.tenant != tenant
            or known.incarnation != incarnation
            or known.status is WorkerStatus.RETIRED
        ):
            return None
        now = self._data.clock()
        changes: dict[str, Any] = {"heartbeat_at": now}
        if error_class is not None:
            changes |= {"last_error_at": now, "last_error_class": error_class}
        beaten = known.model_copy(update=changes)
        self._data.workers.put(worker, beaten)
        return beaten

    @operation
    def retired_queue(self, tenant: int, queue_key: str, idempotency_key: str) -> Queue | None:
        """See ``Store.retired_queue``."""
        retired = (
            q for q in self._data.queues.values()
            if q.tenant == tenant and q.queue_key == queue_key and q.retired_at is not None
        )  # fmt: skip
        return next((q for q in retired if self._retired_under(q.uid, idempotency_key)), None)

    def _retired_under(self, queue: int, key: str) -> bool:
        facts = self._data.facts.get(queue, ())
        return any(f.type == ft.QUEUE_RETIRED and f.idempotency_key == key for f in facts)

    @operation
    def prior_fact(self, thread: int, types: Sequence[str], idempotency_key: str) -> Fact | None:
        """See ``Store.prior_fact``."""
        facts = self._data.facts.get(thread, ())
        return next((f for f in facts if f.type in types and f.idempotency_key == idempotency_key), None)

    @operation
    def head(self, thread: int) -> tuple[int, bytes]:
        """See ``Store.head``; of a thread that is still to begin: 0 and nothing."""
        return self._data.heads.get(thread, (0, b""))

    def _workers(self, tenant: int) -> list[Worker]:
        found = (w for w in self._data.workers.values() if w.tenant == tenant)
        return sorted(found, key=lambda w: w.worker_key)

    def _tell_next(self, thread: int, tenant: int, fact_type: str, data: Mapping[str, Any], actor: str) -> None:
        seq, head = self._data.heads.get(thread, (0, b""))
        fact = Fact(
            thread=thread, seq=seq + 1, type=fact_type, at=self._data.clock(), tenant=tenant, actor=actor, data=data
        )
        self._tell(replace(fact, hash=fact.content_hash(head)))

    def _tell(self, fact: Fact) -> None:
        self._data.heads.put(fact.thread, (fact.seq, fact.hash))
        self._data.tell(fact)
