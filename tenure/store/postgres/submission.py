"""Submitting: inserts only, so that it is fast in bulk and safe within anybody's transaction."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from psycopg import errors as pg

from tenure.model.errors import (
    AlreadyExists,
    Conflict,
    IdempotencyConflict,
    NotFound,
    QueueUnknown,
    TemplateNotServed,
    TenureError,
)  # fmt: skip
from tenure.model.json_text import canonical_json
from tenure.model.requests import SubmitSubject
from tenure.model.result import ActionResult, result_of
from tenure.model.states import State
from tenure.store.answers import Born, born
from tenure.store.operation import Ahead, Alone, Landing, Op, Statement, done
from tenure.store.postgres import rows
from tenure.store.postgres.registry import Registry
from tenure.store.records import Submission, Submitted
from tenure.store.tracing import trace_reference


class _Kind(NamedTuple):
    """What all rows of one statement share."""

    template: int
    code: str
    queue_key: str | None
    ready: bool
    in_run: bool

    @property
    def state(self) -> State:
        """The state in which they begin."""
        return State.READY if self.ready else State.PENDING

    @classmethod
    def of(cls, item: Submission) -> _Kind:
        request = item.request
        return cls(item.template, request.template, request.queue_key, request.ready, item.in_run)

    def fits(self, item: Submission) -> bool:
        """Whether the item is of this kind."""
        request = item.request
        return (
            item.template == self.template and request.queue_key == self.queue_key and request.ready == self.ready
            and item.in_run == self.in_run and request.template == self.code
        )  # fmt: skip


class Submissions(Registry):
    """``submit`` of the store port."""

    notify = True

    def submit(self, tenant: int, actor: str, items: Sequence[Submission]) -> Op[Sequence[Submitted]]:
        """See ``Store.submit``."""
        kind = _plain(items)
        if kind is None:
            if len(items) == 1 and not items[0].request.parents:
                return (yield from self._submit_kind(_Kind.of(items[0]), tenant, actor, items, _drawn(items)))
            return (yield from self.transaction(self._submit_all(tenant, actor, items)))
        alone = len(items) == 1 and (yield Alone())
        written = yield _statement(kind, tenant, actor, items, _drawn(items), notify=self._hints(kind), alone=alone)
        return (yield from self._answered(kind, tenant, items, written))

    def submit_ahead(self, tenant: int, actor: str, items: Sequence[Submission]) -> Op[Op[Sequence[Submitted]]]:
        """See ``Store.submit_ahead``: sent and left under way where it is the plain case, else done at once."""
        kind = _plain(items)
        if kind is None:
            answers = yield from self.submit(tenant, actor, items)
            return done(answers)
        ticket = yield Ahead(_statement(kind, tenant, actor, items, _drawn(items), notify=self._hints(kind)))
        return self._land(kind, tenant, items, ticket)

    def _land(self, kind: _Kind, tenant: int, items: Sequence[Submission], ticket: Any) -> Op[Sequence[Submitted]]:
        return (yield from self._answered(kind, tenant, items, (yield Landing(ticket))))

    def _answered(
        self, kind: _Kind, tenant: int, items: Sequence[Submission], written: Sequence[Any]
    ) -> Op[Sequence[Submitted]]:
        ((accepted, now, made, *_),) = written
        if not accepted:
            error = yield from self._closed(tenant, kind)
            return [error for _ in items]
        return Born(items, [made] if len(items) == 1 else _numbers("q", made), kind.state, now)

    def _hints(self, kind: _Kind) -> bool:
        return self.notify and kind.ready and kind.queue_key is not None

    def _submit_all(self, tenant: int, actor: str, items: Sequence[Submission]) -> Op[list[Submitted]]:
        answers: list[Submitted | None] = [None] * len(items)
        # Uids are drawn in the order of the requests, which is the last of what orders a queue.
        uids = _drawn(items) or (yield from self.fresh_uids(len(items)))
        for together in _rounds(items):
            together.sort(key=lambda i: repr(_Kind.of(items[i])))
            for kind, group in groupby(together, key=lambda i: _Kind.of(items[i])):
                indexes = sorted(group)
                chosen, drawn = [items[i] for i in indexes], [uids[i] for i in indexes]
                answered = yield from self._submit_kind(kind, tenant, actor, chosen, drawn)
                for index, answer in zip(indexes, answered, strict=True):
                    answers[index] = answer
        yield from self._link_parents(tenant, items, answers)
        return [answer for answer in answers if answer is not None]

    def _submit_kind(
        self, kind: _Kind, tenant: int, actor: str, items: Sequence[Submission], uids: Sequence[int] | None = None
    ) -> Op[list[Submitted]]:
        answers: list[Submitted | None] = [None] * len(items)
        for attempt in (1, 2, 3):
            todo = [i for i, answer in enumerate(answers) if answer is None]
            if not todo:
                break
            yield from self._insert(kind, tenant, actor, items, uids, todo, answers, last=attempt == 3)
        return [a if a is not None else _LOST for a in answers]

    def _insert(
        self, kind: _Kind, tenant: int, actor: str, items: Sequence[Submission], uids: Sequence[int] | None,
        todo: list[int], answers: list[Submitted | None], *, last: bool,
    ) -> Op[None]:  # fmt: skip
        chosen = [items[i] for i in todo]
        keyed = any(item.request.idempotency_key or item.request.external_ref for item in chosen)
        drawn = [uids[i] for i in todo] if uids is not None else None
        alone = yield Alone()
        statement = _statement(kind, tenant, actor, chosen, drawn, notify=self._hints(kind), alone=alone)
        try:
            # Where it fails, what others have done in the same transaction stays.
            saved = keyed and not alone
            written = yield from (self.transaction(_one_statement(statement)) if saved else _one_statement(statement))
        except pg.UniqueViolation:
            # Somebody else submitted the same key at the same moment; look at what they wrote.
            written = None
            if last:
                raise Conflict("The same key is being submitted elsewhere.", "Send it again in a moment.") from None
        if written is not None:
            if not written[0][0]:
                # What was submitted before its queue closed is still answered from then.
                known = yield from self._known(tenant, items, todo)
                error = yield from self._closed(tenant, kind)
                for i in todo:
                    answers[i] = known.get(i, error)
                return
            _note(kind, items, todo, written, answers)
        missing = [i for i in todo if answers[i] is None]
        if missing:
            for index, answer in (yield from self._known(tenant, items, missing)).items():
                answers[index] = answer

    def _known(self, tenant: int, items: Sequence[Submission], indexes: list[int]) -> Op[dict[int, Submitted]]:
        if not indexes:
            return {}
        requests = [items[i].request for i in indexes]
        found = yield Statement(
            "find_submitted",
            {
                "tenant": tenant,
                "keys": [r.idempotency_key for r in requests],
                "refs": [r.external_ref for r in requests],
            },
        )
        answers: dict[int, Submitted] = {}
        for row in found:
            index = indexes[row["item"]]
            fact = rows.fact(row)
            if not row["same_key"]:
                answers[index] = _taken(items[index].request)
            elif fact.payload_hash != items[index].payload_hash:
                answers[index] = _differs(items[index].request)
            else:
                answers[index] = result_of(fact, replayed=True)
        return answers

    def _closed(self, tenant: int, kind: _Kind) -> Op[TenureError]:
        queues = yield from self.queues(tenant, [str(kind.queue_key)])
        queue = queues.get(str(kind.queue_key))
        if queue is None or queue.retired_at is not None:
            return QueueUnknown(
                f"There is no queue {kind.queue_key!r}.",
                "Define it first, or correct the key.",
                queue_key=kind.queue_key,
            )
        return TemplateNotServed(
            f"Queue {kind.queue_key!r} does not serve template {kind.code!r}.",
            f"It serves {', '.join(queue.subject_template_codes)}.", queue_key=kind.queue_key, template=kind.code,
        )  # fmt: skip

    def _link_parents(self, tenant: int, items: Sequence[Submission], answers: Sequence[Submitted | None]) -> Op[None]:
        edges = [
            (parent, answer.subject)
            for item, answer in zip(items, answers, strict=True)
            if isinstance(answer, ActionResult) and not answer.replayed
            for parent in item.request.parents
        ]
        if not edges:
            return
        written = yield Statement(
            "insert_links",
            {
                "tenant": tenant,
                "relation": "parent",
                "parents": [e[0] for e in edges],
                "children": [e[1] for e in edges],
            },
        )
        if {row["parent"] for row in written} != {e[0] for e in edges}:
            raise NotFound("A parent does not exist.", "Give the EUIDs of subjects of this tenant.")


_LOST = Conflict("The submission was lost to a concurrent one.", "Send it again with the same key.")


def _rounds(items: Sequence[Submission]) -> Iterator[list[int]]:
    """Indexes that may be submitted together: whoever repeats a key or reference is answered after the one before."""
    left = list(range(len(items)))
    while left:
        seen: set[tuple[str, str]] = set()
        together: list[int] = []
        later: list[int] = []
        for index in left:
            request = items[index].request
            named = {(n, v) for n in ("idempotency_key", "external_ref") if (v := getattr(request, n)) is not None}
            (later if seen & named else together).append(index)
            seen |= named
        yield together
        left = later


def _plain(items: Sequence[Submission]) -> _Kind | None:
    """What all of them share, where they need no more than an insert and are all of one kind."""
    if not items:
        return None
    kind = _Kind.of(items[0])
    for item in items:
        request = item.request
        if request.idempotency_key or request.external_ref or request.parents or not kind.fits(item):
            return None
    return kind


def _drawn(items: Sequence[Submission]) -> list[int] | None:
    """The uids drawn for them, where all have one."""
    uids = [item.uid for item in items if item.uid is not None]
    return uids if len(uids) == len(items) else None


def _one_statement(statement: Statement) -> Op[Any]:
    return (yield statement)


def _statement(
    kind: _Kind, tenant: int, actor: str, chosen: Sequence[Submission], uids: Sequence[int] | None, *, notify: bool,
    alone: bool = False,
) -> Statement:  # fmt: skip
    params: dict[str, Any] = {
        "tenant": tenant, "actor": actor, "template": kind.template, "template_code": kind.code,
        "queue_key": kind.queue_key, "in_run": kind.in_run, "state": str(kind.state),
        "trace_id": trace_reference(), "notify": notify,
    }  # fmt: skip
    if len(chosen) == 1:
        (item,) = chosen
        params |= _of_one(item) | {"uid": uids[0] if uids else None, "alone": alone}
        return Statement("submit_one", params, plain=True)
    params |= {
        "uids": uids,
        "keyed": any(i.request.idempotency_key or i.request.external_ref for i in chosen),
        # One document: an array would be quoted element by element.
        "properties": "[" + ",".join([item.properties_text for item in chosen]) + "]",
        "proofs": b"".join([item.payload_hash for item in chosen]),
        # A column that nobody uses is not sent: unnest fills it with nulls.
        **{name: values if any(v is not None for v in values) else None for name, values in _columns(chosen).items()},
    }
    return Statement("submit", params, plain=True)


def _of_one(item: Submission) -> dict[str, Any]:
    request = item.request
    return {
        "properties": item.properties_text,
        "data": canonical_json(item.born_with) if item.born_with is not None else None,
        "name": request.name, "external_ref": request.external_ref, "payload_ref": request.payload_ref,
        "submit_key": request.idempotency_key, "payload_hash": item.payload_hash,
        "correlation_id": request.correlation_id,
    }  # fmt: skip


_COLUMNS = ("data", "names", "external_refs", "payload_refs", "submit_keys", "correlation_ids")


def _columns(chosen: Sequence[Submission]) -> dict[str, list[Any]]:
    if all(item.request.is_bare for item in chosen):
        return {name: [] for name in _COLUMNS}
    requests = [item.request for item in chosen]
    return {
        "data": [canonical_json(i.born_with) if i.born_with is not None else None for i in chosen],
        "names": [r.name for r in requests],
        "external_refs": [r.external_ref for r in requests],
        "payload_refs": [r.payload_ref for r in requests],
        "submit_keys": [r.idempotency_key for r in requests],
        "correlation_ids": [r.correlation_id for r in requests],
    }


def _note(
    kind: _Kind, items: Sequence[Submission], todo: Sequence[int], written: Sequence[Any],
    answers: list[Submitted | None],
) -> None:  # fmt: skip
    ((_, now, *made, _),) = written
    if len(todo) == 1:
        uids: Sequence[int] = [made[0]] if made[0] is not None else []
        places: Sequence[int] = (1,) * len(uids)
    else:
        uids = _numbers("q", made[0])
        places = _numbers("i", made[1]) or range(1, len(uids) + 1)
    for place, uid in zip(places, uids, strict=True):
        index = todo[place - 1]
        answers[index] = born(items[index], uid, kind.state, now)


def _numbers(code: str, packed: bytes | None) -> Sequence[int]:
    """What came end to end in one value."""
    return struct.unpack(f"!{len(packed) // struct.calcsize('!' + code)}{code}", packed) if packed else ()


def _taken(request: SubmitSubject) -> TenureError:
    return AlreadyExists(
        f"A subject with external_ref {request.external_ref!r} exists already.",
        "Use that subject, or give this one another reference.", external_ref=request.external_ref,
    )  # fmt: skip


def _differs(request: SubmitSubject) -> TenureError:
    return IdempotencyConflict(
        "This idempotency key was used before with another payload.",
        "Use a new key for a new request, or send the first payload again to get the first answer.",
        idempotency_key=request.idempotency_key,
    )  # fmt: skip
