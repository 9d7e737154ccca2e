"""The hot statements: claim, plain completion, plain renewal; and what a claim has to see to first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from psycopg import errors as pg
from psycopg.types.numeric import Int4, Int8
from pydantic_core import from_json

from tenure.model import fact_types as ft
from tenure.model.fact_types import REGISTRY
from tenure.model.json_text import instant
from tenure.model.requests import ClaimItems
from tenure.model.result import ActionResult
from tenure.model.states import State
from tenure.store.operation import Op, Statement
from tenure.store.postgres import rows
from tenure.store.postgres.arrays import Uids
from tenure.store.postgres.order import LATEST, after_params
from tenure.store.postgres.registry import Registry
from tenure.store.postgres.standing import StandingClaim
from tenure.store.records import FEW, Claimed, Finish, Gate, Refused, ScanHint
from tenure.store.tracing import trace_reference


class Leasing(Registry):
    """The leasing part of the store port."""

    def __init__(self) -> None:
        super().__init__()
        self._codes: dict[int, str] = {}

    def claim(
        self, tenant: int, request: ClaimItems, actor: str, hint: ScanHint | None, *, past_gate: bool
    ) -> Op[tuple[Gate, list[Claimed]]]:
        """See ``Store.claim``."""
        taken = yield from self._take(_claim_params(tenant, request, actor, hint, past_gate=past_gate))
        if not taken:
            return Gate(allowed=False), []
        gate = Gate(allowed=taken[-1][0], due=bool(taken[-1][1]), lapsed=bool(taken[-1][2]))
        if taken[-1][5] is None:
            return gate, []
        unknown = {row[17] for row in taken} - self._codes.keys()
        if unknown:
            templates = yield from self.templates(tenant)
            self._codes |= {t.uid: t.code for t in templates.values()}
        return gate, _all_claimed(taken, request, self._codes)

    def plan_claims(self, tenant: int) -> Op[None]:
        """Have a connection plan its claims while nobody waits for them: one of nobody takes nothing.

        Raises StoreUnavailable where a table is locked: they are planned when they are needed, then.
        """
        nobody = ClaimItems.model_construct(worker=0, incarnation=1, queue_key="", token_hash=b"", limit=FEW + 1)
        params = _claim_params(tenant, nobody, "", None, past_gate=False)
        yield from self.transaction(_impatiently(Statement("claim", params, plain=True)))

    def plan_completions(self, tenant: int) -> Op[None]:
        """The same for the completion of many, with all that the law asks of it."""
        yield from self.transaction(_impatiently(_completing("complete_plain", tenant, 0, "", [])))

    def leave_claim(self, tenant: int, claim: StandingClaim, live_after: int) -> Op[None]:
        """Leave a claim standing, in place of the worker's former one. What was taken under that one is committed then.

        Its session listens for the answers from then on. Raises StoreUnavailable where somebody's transaction holds the
        worker's row.
        """
        yield Statement("await_answers", {"channel": claim.channel, "spot": claim.spot})
        params = {
            "tenant": tenant, "worker": claim.worker, "incarnation": claim.incarnation, "spot": claim.spot,
            "channel": claim.channel, "token_hash": claim.token_hash, "actor": claim.actor, "ttl": claim.ttl_seconds,
            "queue_keys": list(claim.queue_keys), "live_after": live_after,
        }  # fmt: skip
        yield from self.transaction(_impatiently(Statement("leave_claim", params)))

    def server_clock(self) -> Op[float]:
        """The server's own clock (seconds since 1970), by which it tells when it took something for a standing claim."""
        seconds: float = (yield Statement("server_clock"))[0]["seconds"]
        return seconds

    def move_claim(self, tenant: int, claim: StandingClaim, live_after: int) -> Op[None]:
        """Tell that the worker holds no lease up to this one any more, so that nobody looks for such."""
        params = {"tenant": tenant, "worker": claim.worker, "spot": claim.spot, "live_after": live_after}
        yield Statement("move_claim", params)

    def withdraw_claim(self, tenant: int, claim: StandingClaim) -> Op[None]:
        """Withdraw it. All that was taken under it is committed then, and nothing more will be; raises as ``leave_claim``."""
        params = {"tenant": tenant, "worker": claim.worker, "spot": claim.spot}
        yield from self.transaction(_impatiently(Statement("withdraw_claim", params)))

    def taken_under(self, worker: int, token_hash: bytes, after: int = 0) -> Op[dict[int, float]]:
        """The live leases of a worker under one token, after this one, in order; how long ago each was taken (seconds)."""
        found = yield Statement("taken_under", {"worker": worker, "after": after, "token_hash": token_hash})
        return {row["uid"]: row["age"] for row in found}

    def _take(self, params: dict[str, Any]) -> Op[Sequence[Sequence[Any]]]:
        """The claim; again where a slot of a shared subject was taken between the snapshot and the lock."""
        statement = Statement("claim_few" if params["limit"] <= FEW else "claim", params, plain=True)
        for _ in range(3):
            try:
                taken: Sequence[Sequence[Any]] = yield from (
                    self.transaction(_one(statement)) if params["claim_key"] else _one(statement)
                )
            except pg.UniqueViolation:
                continue
            else:
                return taken
        return []

    def claimed_before(self, tenant: int, worker: int, claim_key: str) -> Op[list[tuple[Claimed, bytes | None]]]:
        """See ``Store.claimed_before``."""
        params = {"leases": None, "worker": worker, "claim_key": claim_key, "tenant": tenant}
        found = yield Statement("claimed", params)
        return [(rows.claimed(row), bytes(row["claim_hash"]) if row["claim_hash"] else None) for row in found]

    def claimed(self, leases: Sequence[int]) -> Op[list[Claimed]]:
        """See ``Store.claimed``."""
        params = {"leases": list(leases), "worker": None, "claim_key": None, "tenant": None}
        return [rows.claimed(row) for row in (yield Statement("claimed", params))]

    def live_leases(self, worker: int) -> Op[int]:
        """See ``Store.live_leases``."""
        live: int = (yield Statement("live_leases", {"worker": worker}))[0]["live"]
        return live

    def promote(self, tenant: int, queue_key: str, limit: int) -> Op[int]:
        """See ``Store.promote``."""
        promoted: list[Any] = yield Statement("promote", {"tenant": tenant, "queue_key": queue_key, "limit": limit})
        return promoted[0]["promoted"] if promoted else 0

    def lapsed(self, tenant: int, queue_key: str | None, limit: int) -> Op[list[int]]:
        """See ``Store.lapsed``."""
        found = yield Statement("lapsed", {"tenant": tenant, "queue_key": queue_key, "limit": limit})
        return [row["uid"] for row in found]

    def next_due(self, tenant: int, queue_keys: Sequence[str]) -> Op[float | None]:
        """See ``Store.next_due``."""
        found = yield Statement("next_due", {"tenant": tenant, "queue_keys": list(queue_keys)}, plain=True)
        seconds: float | None = found[0][0]
        return seconds

    def complete_plain(
        self, tenant: int, worker: int, actor: str, items: Sequence[Finish]
    ) -> Op[Mapping[int, ActionResult]]:
        """See ``Store.complete_plain``."""
        # Always in one order, so that two batches cannot wait for each other.
        ordered = sorted(items, key=lambda item: item.lease)
        name = "complete_few" if len(ordered) <= FEW else "complete_plain"
        done = yield _completing(name, tenant, worker, actor, ordered)
        return Completed(done, worker)

    def renew_plain(
        self, tenant: int, worker: int, incarnation: int, actor: str, leases: Sequence[tuple[int, bytes]],
        ttl_seconds: int | None,
    ) -> Op[dict[int, ActionResult]]:  # fmt: skip
        """See ``Store.renew_plain``."""
        ordered = sorted(leases)
        renewed = yield Statement(
            "renew_plain",
            {
                "tenant": tenant, "worker": worker, "incarnation": incarnation, "actor": actor, "trace_id": trace_reference(),
                "leases": Uids([lease for lease, _ in ordered]), "token_hashes": b"".join([token for _, token in ordered]),
                "ttl": ttl_seconds,
            },
            plain=True,
        )  # fmt: skip
        action = REGISTRY[ft.RENEWED].action
        return {
            lease: ActionResult(
                action, ft.RENEWED, uid, State(state), revision, seq, now, queue_key, lease, worker,
                {"expires_at": instant(until)},
            )
            for lease, until, uid, revision, seq, now, queue_key, state in renewed
        }  # fmt: skip

    def refuse(self, tenant: int, refusals: Sequence[Refused]) -> Op[None]:
        """See ``Store.refuse``."""
        if not refusals:
            return
        values = [
            {name: getattr(r, name) for name in ("code", "action", "actor", "subject", "lease", "worker", "queue_key", "message")}
            for r in refusals
        ]  # fmt: skip
        yield Statement("refuse", {"tenant": tenant, "refusals": json.dumps(values)})


def _one(statement: Statement) -> Op[Any]:
    return (yield statement)


def _impatiently(statement: Statement) -> Op[None]:
    yield Statement("wait_briefly")
    yield statement


def _claim_params(
    tenant: int, request: ClaimItems, actor: str, hint: ScanHint | None, *, past_gate: bool
) -> dict[str, Any]:
    # Numbers of one type each, whatever their size: for other types the statement would be planned anew.
    return {
        "tenant": Int8(tenant), "worker": Int8(request.worker), "incarnation": request.incarnation,
        "queue_key": request.queue_key, "limit": Int4(request.limit), "start": request.start,
        "ttl": request.ttl_seconds, "token_hash": request.token_hash, "actor": actor, "trace_id": trace_reference(),
        "claim_key": request.idempotency_key, "past_gate": past_gate,
        "claim_hash": request.payload_hash() if request.idempotency_key else None,
        **after_params(hint.after if hint is not None else None),
        "live_after": Int8(hint.live_after if hint is not None else 0),
    }  # fmt: skip


def _completing(name: str, tenant: int, worker: int, actor: str, ordered: Sequence[Finish]) -> Statement:
    results = [json.dumps(i.result) if i.result is not None else None for i in ordered]
    refs = [i.result_ref for i in ordered]
    params = {
        "tenant": Int8(tenant), "worker": Int8(worker), "actor": actor, "trace_id": trace_reference(),
        # Hashes travel end to end: one value costs less than an array of many.
        "leases": Uids([i.lease for i in ordered]), "token_hashes": b"".join([i.token_hash for i in ordered]),
        "payload_hashes": b"".join([i.payload_hash for i in ordered]),
        "results": results if any(r is not None for r in results) else None,
        "result_refs": refs if any(r is not None for r in refs) else None,
    }  # fmt: skip
    return Statement(name, params, plain=True)


_STATES = {str(state): state for state in State}


class Completed(Mapping[int, ActionResult]):
    """The answers by lease; made only for who asks, since a worker's reports only ask whether there is one."""

    def __init__(self, rows: Sequence[Sequence[Any]], worker: int) -> None:
        self._rows = {row[0]: row for row in rows}
        self._at = self._rows.pop(None, [None] * 5)[4]
        """When, where that is told of all of them at once."""
        self._worker = worker

    def __getitem__(self, lease: int) -> ActionResult:
        _, uid, revision, seq, now, queue_key = self._rows[lease]
        at = now or self._at
        return ActionResult(
            _COMPLETED, ft.COMPLETED, uid, State.COMPLETED, revision, seq, at, queue_key, lease, self._worker
        )

    def __contains__(self, lease: object) -> bool:
        return lease in self._rows

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


_COMPLETED = REGISTRY[ft.COMPLETED].action


def _all_claimed(taken: Sequence[Sequence[Any]], request: ClaimItems, codes: dict[int, str]) -> list[Claimed]:
    # Of many that were taken at one moment the last row alone tells when, and where in the queue that was; a state that is
    # not told is the one that all of them are in.
    *_, (_, _, _, at, ttl, _, last, _, _, _, _, _, _, rank, due, eligible, created, *_) = taken
    term = timedelta(seconds=ttl)
    until = at + term
    queue_key, worker, started = request.queue_key, request.worker, request.start
    items = [
        Claimed(
            lease, subject, queue_key, worker, number, _STATES[state] if state else State.RUNNING, revision, seq, slot, now or at,
            now + term if now else until, ttl, started, codes[template], name, external_ref, action_key, -rank,
            from_json(properties), payload_ref, correlation_id,
        )
        for (_, _, _, now, _, lease, subject, number, state, revision, seq, slot, action_key, rank, _, _, _,
             template, name, external_ref, properties, payload_ref, correlation_id) in taken
    ]  # fmt: skip
    items[-1].order = (rank, due or LATEST, eligible, created, last)
    return items
