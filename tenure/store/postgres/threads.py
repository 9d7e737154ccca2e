"""Loading threads under lock and applying what decisions made of them: every action but the hot three goes this way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from tenure.model.attempt import Attempt, attempt_of
from tenure.model.dead_letter import DeadLetter
from tenure.model.decisions.unfolding import Unfolding
from tenure.model.envelope import Envelope
from tenure.model.fact import Fact
from tenure.model.hold import Hold
from tenure.model.states import CLAIMABLE
from tenure.store.operation import Op, Statement
from tenure.store.postgres import rows
from tenure.store.records import Loaded, Target

_UIDS_AHEAD = 4
_ENVELOPE = [
    f.name
    for f in fields(Envelope)
    if f.name
    not in ("template", "created_at", "tenant", "site", "platform", "assay", "barred_workers", "barred_principals")
]
_FACT = [f.name for f in fields(Fact) if f.name != "position"]


class Threads:
    """``load`` and ``apply`` of the store port."""

    notify = True

    def load(
        self, tenant: int, targets: Sequence[Target], queue_keys: Iterable[str] = (), workers: Iterable[int] = (), *,
        skip_locked: bool = False,
    ) -> Op[Loaded]:  # fmt: skip
        """See ``Store.load``."""
        leases = sorted({attempt_of(t.lease) for t in targets if t.lease is not None})
        subject_of_lease: dict[int, int] = {}
        if leases:
            found = yield Statement("subjects_of_leases", {"uids": leases, "tenant": tenant})
            subject_of_lease = {row["uid"]: row["subject"] for row in found}
        wanted = sorted({t.subject for t in targets if t.subject is not None} | set(subject_of_lease.values()))
        lock = "lock_subjects_free" if skip_locked else "lock_subjects"
        locked = [row["uid"] for row in (yield Statement(lock, {"uids": wanted, "tenant": tenant}))]
        named: dict[int, list[int]] = {}
        for lease, subject in subject_of_lease.items():
            named.setdefault(subject, []).append(lease)
        loaded = yield Statement("load_threads", {"uids": locked, "attempts": json.dumps(named)})
        threads = {row["uid"]: rows.thread(row) for row in loaded}
        tokens = {
            a["uid"]: token for row in loaded for a in row["attempts"] if (token := rows.token_hash(a["token_hash"]))
        }  # fmt: skip
        replays = yield from self._replays(targets, threads, subject_of_lease)
        keys = set(queue_keys) | {
            key for thread in threads.values()
            for key in (thread.envelope.next_queue_key, *(a.queue_key for a in thread.attempts.values())) if key
        }  # fmt: skip
        queues = yield Statement("queues", {"tenant": tenant, "keys": sorted(keys)})
        worker_uids = sorted(
            set(workers) | {a.worker for t in threads.values() for a in t.attempts.values() if a.worker}
        )
        found_workers = yield Statement("workers", {"tenant": tenant, "uids": worker_uids})
        clock = yield Statement("clock")
        uids = yield Statement("fresh_uids", {"count": _UIDS_AHEAD * max(1, len(targets))})
        return Loaded(
            now=clock[0]["now"], threads=threads, subject_of_lease=subject_of_lease, token_hashes=tokens,
            replays=replays, queues={row["queue_key"]: rows.queue(row) for row in queues},
            workers={row["uid"]: rows.worker(row) for row in found_workers}, uids=iter([row["uid"] for row in uids]),
        )  # fmt: skip

    def _replays(
        self, targets: Sequence[Target], threads: dict[int, Any], subject_of_lease: dict[int, int]
    ) -> Op[dict[int, Fact]]:
        asked: list[tuple[int, int, str | None, int | None, str]] = []
        for index, target in enumerate(targets):
            subject = (
                target.subject if target.subject is not None else subject_of_lease.get(attempt_of(target.lease or 0))
            )
            if subject not in threads or (target.idempotency_key is None and target.lease is None):
                continue
            lease = attempt_of(target.lease) if target.lease is not None else None
            asked.append((index, subject, target.idempotency_key, lease, " ".join(target.types)))
        if not asked:
            return {}
        found = yield Statement(
            "load_replays",
            {"threads": [a[1] for a in asked], "keys": [a[2] for a in asked], "leases": [a[3] for a in asked],
             "types": [a[4] for a in asked]},
        )  # fmt: skip
        return {asked[row["target"]][0]: rows.fact(row) for row in found}

    def apply(self, unfoldings: Sequence[Unfolding]) -> Op[None]:
        """See ``Store.apply``."""
        changed = [u for u in unfoldings if u.facts]
        if not changed:
            return
        lists: dict[str, list[dict[str, Any]]] = {
            name: []
            for name in ("facts", "envelopes", "new_attempts", "changed_attempts", "holds", "dead_letters", "links")
        }
        for unfolding in changed:
            _collect(unfolding, lists)
        yield Statement("apply", {name: json.dumps(values) for name, values in lists.items()} | {"notify": self.notify})


def _collect(unfolding: Unfolding, lists: dict[str, list[dict[str, Any]]]) -> None:
    before, after = unfolding.before, unfolding.thread
    tenant = after.envelope.tenant
    now = unfolding.facts[-1].at
    lists["facts"] += [_json(fact, _FACT) for fact in unfolding.facts]
    env = after.envelope
    deferred = env.state in CLAIMABLE and env.eligible_at > now
    lists["envelopes"].append(_json(env, _ENVELOPE) | {"deferred": deferred})
    for uid, attempt in after.attempts.items():
        if attempt == before.attempts.get(uid):
            continue
        details = {k: rows.as_json(v) for k, v in unfolding.details.get(uid, {}).items()}
        row = _json(attempt, [f.name for f in fields(Attempt)]) | {"tenant": tenant} | details
        lists["changed_attempts" if uid in before.attempts else "new_attempts"].append(row)
    lists["holds"] += [
        _json(hold, [f.name for f in fields(Hold)]) | {"tenant": tenant}
        for uid, hold in after.holds.items() if hold != before.holds.get(uid)
    ]  # fmt: skip
    for uid, letter in after.dead_letters.items():
        if letter != before.dead_letters.get(uid):
            message = unfolding.details.get(letter.attempt, {}).get("error_message")
            row = _json(letter, [f.name for f in fields(DeadLetter)])
            lists["dead_letters"].append(row | {"tenant": tenant, "error_message": message})
    lists["links"] += [
        {"parent": parent, "child": child, "relation": "execution_record_output", "tenant": tenant, "created_at": rows.as_json(now)}
        for parent, child in sorted(after.outputs - before.outputs)
    ]  # fmt: skip


def _json(value: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: rows.as_json(getattr(value, name)) for name in names}
