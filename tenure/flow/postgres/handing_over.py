"""``ShortCut`` on PostgreSQL: one statement to look, one to hand over."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tenure.flow.handing_over import HandOver, Look, StepEnd
from tenure.flow.journal import Position
from tenure.flow.postgres.journal import FACT, journal_of, values_of
from tenure.flow.postgres.rows import run_of
from tenure.model.fact import Fact
from tenure.model.json_text import canonical_json
from tenure.model.result import ActionResult
from tenure.store.operation import Op, Statement
from tenure.store.postgres.arrays import Uids
from tenure.store.postgres.leasing import Completed
from tenure.store.postgres.store import PostgresStore
from tenure.store.records import Finish, Submission
from tenure.store.tracing import trace_reference

_STANDING = ("status", "boundary", "wake_at", "output", "ended_at")
_BORN = ("workflow", "name", "input", "input_hash", "correlation_id", "trace_id")
_PLANNED = ("run", "runnable_key", "step", "iteration", "retry")


class PostgresShortCut:
    """Implements ``tenure.flow.handing_over.ShortCut``."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def look(
        self, tenant: int, worker: int, finishes: Sequence[Finish], format: int, known: Mapping[int, Position]  # noqa: A002
    ) -> Op[list[Look]]:  # fmt: skip
        """See ``ShortCut.look``."""
        params = {
            "tenant": tenant, "worker": worker, "format": format, "leases": Uids([f.lease for f in finishes]),
            "token_hashes": b"".join([f.token_hash for f in finishes]),
            "known": json.dumps({run: position.rev for run, position in known.items()}),
        }  # fmt: skip
        found = yield Statement("look_at_steps", params)
        return [
            Look(
                run_of(row), journal_of(row, format, known[row["uid"]] if row["known"] is not None else None),
                [StepEnd(*end) for end in row["ends"]], row["now"], row["uids"], row["known"] is not None,
            )
            for row in found
        ]  # fmt: skip

    def hand_over(
        self, tenant: int, worker: int, actor: str, now: datetime, hand_overs: Sequence[HandOver]
    ) -> Op[Mapping[int, ActionResult]]:
        """See ``ShortCut.hand_over``."""
        done = yield self._statement(tenant, worker, actor, now, hand_overs)
        return Completed([(*row[:4], now, row[4]) for row in done], worker)

    def moment(self, count: int) -> Op[tuple[datetime, list[int]]]:
        """See ``ShortCut.moment``."""
        ((now, uids),) = yield Statement("moment", {"count": count}, plain=True)
        return now, uids

    def begin(self, tenant: int, actor: str, now: datetime, hand_overs: Sequence[HandOver]) -> Op[set[int]]:
        """See ``ShortCut.begin``."""
        begun = yield self._statement(tenant, None, actor, now, hand_overs)
        return {row[1] for row in begun}

    def _statement(
        self, tenant: int, worker: int | None, actor: str, now: datetime, hand_overs: Sequence[HandOver]
    ) -> Statement:
        lists: dict[str, list[dict[str, Any]]] = {name: [] for name in ("ends", "moved", "told", "planned", "linked")}
        # Always in one order, so that two sets cannot wait for each other.
        for one in sorted(hand_overs, key=lambda one: one.append.thread):
            _collect(one, lists)
        params = {
            "tenant": tenant, "worker": worker, "actor": actor, "trace_id": trace_reference(), "at": now,
            "notify": self._store.notify, **{name: json.dumps(values) for name, values in lists.items()},
        }  # fmt: skip
        return Statement("hand_over", params, plain=True)


def _collect(one: HandOver, lists: Mapping[str, list[dict[str, Any]]]) -> None:
    append = one.append
    begins = append.expected_rev == 0
    lists["moved"].append(
        {"uid": append.thread, "begins": begins, "expected": append.expected_rev, "seq": one.end.rev}
        | {"head": one.end.head.hex()}
        | values_of(append.row, (*_STANDING, *(_BORN if begins else ())))
    )
    lists["told"] += [_told(fact) for fact in one.facts]
    lists["ends"] += [
        {
            "run": append.thread, "lease": step.lease, "subject": step.subject, "seq": step.seq,
            "proof_of_holder": finish.token_hash.hex(), "proof": finish.payload_hash.hex(), "result": finish.result,
            "result_ref": finish.result_ref,
        }
        for step, finish in one.ends
    ]  # fmt: skip
    lists["planned"] += [
        {name: getattr(runnable, name) for name in _PLANNED} | _submitted(runnable.subject, item)
        for runnable, item in one.planned
    ]
    lists["linked"] += [
        {
            "run": append.thread, "child": edge.child, "relation": edge.relation,
            ("parent" if isinstance(edge.parent, int) else "parent_key"): edge.parent,
        }
        for edge in one.edges
    ]  # fmt: skip


def _submitted(uid: int, item: Submission) -> dict[str, Any]:
    request = item.request
    return {
        "uid": uid, "template": item.template, "template_code": request.template, "queue_key": request.queue_key,
        "properties": item.properties_text, "name": request.name, "correlation_id": request.correlation_id,
        "data": canonical_json(item.born_with) if item.born_with is not None else None, "proof": item.payload_hash.hex(),
    }  # fmt: skip


def _told(fact: Fact) -> dict[str, Any]:
    return {name: value for name, value in values_of(fact, FACT).items() if value is not None}
