"""How subjects come into the memory store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tenure.model import fact_types as ft
from tenure.model.errors import (
    AlreadyExists,
    IdempotencyConflict,
    NotFound,
    QueueUnknown,
    TemplateNotServed,
    TenureError,
)  # fmt: skip
from tenure.model.euid import SUBJECT, format_euid
from tenure.model.fact import Fact, check_data
from tenure.model.requests import SubmitSubject
from tenure.model.result import result_of
from tenure.model.states import State
from tenure.model.thread import evolve
from tenure.store.memory.room import Room, operation
from tenure.store.operation import Op, done
from tenure.store.records import Subject, Submission, Submitted
from tenure.store.tracing import trace_reference

#: The relation of the edge from a subject to what was submitted as its child.
PARENT = "parent"


class Submitting(Room):
    """Creating subjects with envelope and first fact."""

    @operation
    def submit(self, tenant: int, actor: str, items: Sequence[Submission]) -> Sequence[Submitted]:
        """See ``Store.submit``. A key or external_ref that is known is answered before anything else is looked at."""
        return [self._submit(tenant, actor, item) for item in items]

    def submit_ahead(self, tenant: int, actor: str, items: Sequence[Submission]) -> Op[Op[Sequence[Submitted]]]:
        """See ``Store.submit_ahead``: done at once."""
        answers = yield from self.submit(tenant, actor, items)
        return done(answers)

    def _submit(self, tenant: int, actor: str, item: Submission) -> Submitted:
        known = self._known(tenant, item)
        if known is not None:
            return known
        error = self._queue_error(tenant, item.request)
        if error is not None:
            return error
        return result_of(self._create(tenant, actor, item))

    def _known(self, tenant: int, item: Submission) -> Submitted | None:
        request, data = item.request, self._data
        uid = data.submit_keys.get((tenant, request.idempotency_key or ""))
        if uid is not None:
            first = data.facts[uid][0]
            if first.payload_hash == item.payload_hash:
                return result_of(first, replayed=True)
            return IdempotencyConflict(
                "This idempotency key was used before with another payload.",
                "Use a new key for a new request, or send the first payload again to get the first answer.",
                idempotency_key=request.idempotency_key,
            )
        uid = data.external_refs.get((tenant, request.external_ref or ""))
        if uid is None:
            return None
        return AlreadyExists(
            f"A subject with the external_ref {request.external_ref!r} exists already.",
            "Use that one, or give another external_ref.",
            subject=format_euid(SUBJECT, uid),
        )

    def _queue_error(self, tenant: int, request: SubmitSubject) -> TenureError | None:
        key = request.queue_key
        if key is None:
            return None
        queue = self._data.active_queue(tenant, key)
        if queue is None:
            return QueueUnknown(f"There is no queue {key!r}.", "Define it first, or correct the key.", queue_key=key)
        if request.template in queue.subject_template_codes:
            return None
        return TemplateNotServed(
            f"Queue {key!r} does not serve template {request.template!r}.",
            f"It serves {', '.join(queue.subject_template_codes)}.",
            queue_key=key,
            template=request.template,
        )

    def _create(self, tenant: int, actor: str, item: Submission) -> Fact:
        request, data, now = item.request, self._data, self._data.clock()
        uid = item.uid if item.uid is not None else next(data.uids)
        fact = Fact(
            thread=uid, seq=1, type=ft.SUBMITTED, at=now, tenant=tenant, actor=actor,
            state=State.READY if request.ready else State.PENDING, revision=1, queue_key=request.queue_key,
            data=request.born_with(), idempotency_key=request.idempotency_key,
            correlation_id=request.correlation_id, trace_id=trace_reference(),
            payload_hash=request.payload_hash(),
        )  # fmt: skip
        check_data(fact.data)
        fact = data.tell(replace(fact, hash=fact.content_hash(b"")))
        data.threads.put(uid, replace(evolve(None, fact, request.template), in_run=item.in_run, retry=item.retry))
        data.subjects.put(
            uid,
            Subject(
                uid=uid, tenant=tenant, template=request.template, name=request.name,
                external_ref=request.external_ref, properties=request.properties, payload_ref=request.payload_ref,
                correlation_id=request.correlation_id, created_at=now,
            ),
        )  # fmt: skip
        if request.idempotency_key is not None:
            data.submit_keys.put((tenant, request.idempotency_key), uid)
        if request.external_ref is not None:
            data.external_refs.put((tenant, request.external_ref), uid)
        for parent in request.parents:
            known = data.subjects.get(parent)
            if known is None or known.tenant != tenant:
                raise NotFound("A parent does not exist.", "Give the EUIDs of subjects of this tenant.")
            data.links.put((parent, uid, PARENT), tenant)
        return fact
