"""The journal on PostgreSQL: threads are facts, under the same law and hash chain as all others; `run` owns them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from typing import Any

from psycopg import errors as pg

from tenure.flow.journal import (
    Append,
    Checkpoint,
    Entry,
    Journal,
    JournalCorrupt,
    JournalUnknown,
    Position,
    proved,
    sealed,
    stale,
)
from tenure.flow.rows import RunnableRow, RunRow
from tenure.model.errors import InvalidRequest
from tenure.model.fact import Fact
from tenure.store.operation import Op, Statement
from tenure.store.postgres import rows
from tenure.store.postgres.store import PostgresStore

_RUN = [f.name for f in fields(RunRow) if f.name not in ("seq", "head")]
_RUNNABLE = [f.name for f in fields(RunnableRow)]
FACT = (
    "thread", "seq", "tenant", "at", "type", "actor", "idempotency_key", "correlation_id", "causation_id", "trace_id",
    "payload_hash", "data", "hash",
)  # fmt: skip
# Numbers keep the digits that were hashed: jsonb knows 1.10, a float does not.
_exact = json.JSONDecoder(parse_float=Decimal).decode
_EVERYTHING = 2**31 - 1


class PostgresJournal:
    """Implements ``tenure.flow.journal.JournalStorage``. A thread begins with the row of its run, which is its owner."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def append(
        self, thread: int, entries: Sequence[Entry], expected_rev: int, *, tenant: int = 0, row: RunRow | None = None
    ) -> Op[int]:
        """See ``JournalStorage.append``."""
        ends = yield from self.append_many([Append(thread, tenant, entries, expected_rev, row=row)])
        return ends[0].rev

    def append_many(self, appends: Sequence[Append]) -> Op[list[Position]]:
        """See ``JournalStorage.append_many``."""
        heads = yield from self._heads(appends)
        told = [sealed(append, heads[append.thread]) for append in appends]
        ends = [
            Position(facts[-1].seq, facts[-1].hash) if facts else Position(append.expected_rev, heads[append.thread])
            for append, facts in zip(appends, told, strict=True)
        ]
        todo = [(append, facts, end) for append, facts, end in zip(appends, told, ends, strict=True) if facts]
        if todo:
            yield from self._write(todo)
        return ends

    def _heads(self, appends: Sequence[Append]) -> Op[dict[int, bytes]]:
        heads = {a.thread: b"" for a in appends if a.expected_rev == 0}
        heads |= {a.thread: a.head for a in appends if a.head is not None}
        asked = [a for a in appends if a.thread not in heads]
        if asked:
            found = yield Statement("journal_heads", {"uids": [a.thread for a in asked]})
            known = {row["uid"]: Position(row["seq"], bytes(row["head"])) for row in found}
            for append in asked:
                if append.thread not in known:
                    raise JournalUnknown("There is no such thread.", "Begin it with expected_rev 0.")
                if known[append.thread].rev != append.expected_rev:
                    raise stale(append.thread, append.expected_rev, known[append.thread].rev)
                heads[append.thread] = known[append.thread].head
        return heads

    def _write(self, todo: Sequence[tuple[Append, list[Fact], Position]]) -> Op[None]:
        grown = [append for append, _, _ in todo if append.expected_rev > 0]
        params = {
            "grown": sorted(append.thread for append in grown),
            "expected": json.dumps({str(append.thread): append.expected_rev for append in grown}),
            "runs": json.dumps([_standing(append, end) for append, _, end in todo]),
            "facts": json.dumps([values_of(fact, FACT) for _, facts, _ in todo for fact in facts]),
            "runnables": json.dumps([values_of(r, _RUNNABLE) for append, _, _ in todo for r in append.runnables]),
            "payloads": json.dumps([
                {"uid": uid, "tenant": append.tenant, "run": append.thread, "data": data}
                for append, _, _ in todo for uid, data in append.payloads.items()
            ]),
            "links": json.dumps([
                {"parent": parent, "child": child, "relation": relation, "tenant": append.tenant,
                 "created_at": rows.as_json(append.entries[0].at)}
                for append, _, _ in todo for parent, child, relation in append.links
            ]),
        }  # fmt: skip
        begins = [append for append, _, _ in todo if append.expected_rev == 0]
        statement = _one(Statement("journal_append", params))
        try:
            # What begins may meet what somebody else begins under the same key at the same moment.
            answer = yield from (self._store.transaction(statement) if begins else statement)
        except pg.UniqueViolation as error:
            raise stale(begins[0].thread, 0) from error
        if not answer[0]["fits"]:
            found = dict(answer[0]["found"] or [])
            late = next(append for append in grown if found.get(append.thread) != append.expected_rev)
            if late.thread not in found:
                raise JournalUnknown("There is no such thread.", "Begin it with expected_rev 0.")
            raise stale(late.thread, late.expected_rev, found[late.thread])

    def load(self, thread: int, after_rev: int = 0, limit: int | None = None) -> Op[list[Fact]]:
        """See ``JournalStorage.load``."""
        params = {"uids": [thread], "format": 0, "after": after_rev, "limit": limit or _EVERYTHING}
        found = yield Statement("journal_load", params)
        if not found:
            raise JournalUnknown("There is no such thread.", "Check its uid.")
        row, head = found[0], b""
        if after_rev > 0:
            told = yield Statement("journal_hash", {"thread": thread, "seq": after_rev})
            head = bytes(told[0]["hash"]) if told else b""
        end = Position(row["seq"], bytes(row["head"]))
        facts = [_exact_fact(fact) for fact in row["facts"]]
        whole = after_rev + len(facts) >= end.rev or limit is None or len(facts) < limit
        proved(thread, facts, Position(after_rev, head), end if whole and after_rev < end.rev else None)
        return [_plain(fact) for fact in facts]

    def load_many(self, threads: Sequence[int], format: int) -> Op[dict[int, Journal | JournalCorrupt]]:  # noqa: A002
        """See ``JournalStorage.load_many``."""
        params = {"uids": sorted(threads), "format": format, "after": None, "limit": _EVERYTHING}
        return {row["uid"]: journal_of(row, format) for row in (yield Statement("journal_load", params))}

    def put_checkpoints(self, checkpoints: Sequence[Checkpoint]) -> Op[None]:
        """See ``JournalStorage.put_checkpoints``."""
        if checkpoints:
            values = [values_of(c, ("thread", "rev", "head", "format", "state")) for c in checkpoints]
            yield Statement("put_checkpoints", {"checkpoints": json.dumps(values)})

    def threads(self, after: int, limit: int) -> Op[list[int]]:
        """See ``JournalStorage.threads``."""
        return [row["uid"] for row in (yield Statement("journal_threads", {"after": after, "limit": limit}))]

    def checkpoint(self, thread: int) -> Op[Checkpoint | None]:
        """See ``JournalStorage.checkpoint``."""
        found = yield Statement("checkpoint", {"thread": thread})
        return Checkpoint(**(found[0] | {"head": bytes(found[0]["head"])})) if found else None


def journal_of(row: rows.Row, format_: int, known: Position | None = None) -> Journal | JournalCorrupt:
    """A journal from a row of ``journal_load``, or what is wrong with it; behind ``known``, where that is given."""
    thread, end = row["uid"], Position(row["seq"], bytes(row["head"]))
    checkpoint = None
    if row["rev"] is not None and known is None:
        checkpoint = Checkpoint(thread, row["rev"], bytes(row["checkpoint_head"]), format_, row["state"])
    after = Position(checkpoint.rev, checkpoint.head) if checkpoint is not None else known or Position(0, b"")
    facts = [_exact_fact(fact) for fact in row["facts"]]
    try:
        proved(thread, facts, after, end)
    except JournalCorrupt as error:
        return error
    return Journal(thread, checkpoint, [_plain(fact) for fact in facts], end)


def _exact_fact(row: rows.Row) -> Fact:
    return rows.fact(
        {
            **row, "at": datetime.fromisoformat(row["at"]),
            "data": _exact(row["data"]) if row["data"] is not None else None,
            "payload_hash": rows.token_hash(row["payload_hash"]), "hash": rows.token_hash(row["hash"]),
        }
    )  # fmt: skip


def _plain(fact: Fact) -> Fact:
    """The fact with numbers as everybody has them."""
    fact.data = _floats(fact.data)
    return fact


def _floats(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: _floats(inner) for key, inner in value.items()}
    return [_floats(inner) for inner in value] if isinstance(value, list) else value


def _standing(append: Append, end: Position) -> dict[str, Any]:
    begins = append.expected_rev == 0
    if append.row is None and begins:
        raise InvalidRequest("A run begins with its row.", "Give the row with the first entries.")
    shown = values_of(append.row, _RUN) if append.row is not None else {"uid": append.thread}
    return shown | {"begins": begins, "stands": append.row is not None, "seq": end.rev, "head": end.head.hex()}


def values_of(value: Any, names: Sequence[str]) -> dict[str, Any]:
    """These fields of a value as the JSON parameters of statements carry them."""
    return {name: rows.as_json(getattr(value, name)) for name in names}


def _one(statement: Statement) -> Op[Any]:
    return (yield statement)
