"""Reading: what operators and ``why`` look at. The rule of visibility itself is in SQL, in migration 0007."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tenure.model.fact import Fact
from tenure.model.ordering import OrderKey
from tenure.model.states import LeaseStatus
from tenure.model.why import Situation
from tenure.store.operation import Op, Statement
from tenure.store.postgres import rows
from tenure.store.postgres.order import after_params
from tenure.store.postgres.proof import proof_of
from tenure.store.postgres.registry import Registry
from tenure.store.records import (
    DeadLetterRow,
    Edge,
    History,
    HoldRow,
    Item,
    LeaseRow,
    Origin,
    QueueCounts,
    RefusalRow,
    Refused,
    Subject,
)

NO_UID_IS_ABOVE = 2**63 - 1
_UNFINISHED = (LeaseStatus.RELEASED, LeaseStatus.EXPIRED, LeaseStatus.ABANDONED, LeaseStatus.CANCELED)


class Reading(Registry):
    """The reading part of the store port."""

    def subject(self, tenant: int, uid: int) -> Op[Subject | None]:
        """See ``Store.subject``."""
        found = yield Statement("subject", {"tenant": tenant, "uid": uid})
        return rows.subject(found[0]) if found else None

    def known_subjects(self, tenant: int, uids: Iterable[int]) -> Op[set[int]]:
        """See ``Store.known_subjects``."""
        return {row["uid"] for row in (yield Statement("known_subjects", {"tenant": tenant, "uids": sorted(uids)}))}

    def origins(self, tenant: int, uids: Iterable[int]) -> Op[dict[int, Origin]]:
        """See ``Store.origins``."""
        found = yield Statement("origins", {"tenant": tenant, "uids": sorted(uids)})
        return {row["uid"]: Origin(row["correlation_id"], row["trace_id"]) for row in found}

    def find_subject(self, tenant: int, external_ref: str) -> Op[int | None]:
        """See ``Store.find_subject``."""
        found = yield Statement("find_subject", {"tenant": tenant, "external_ref": external_ref})
        return found[0]["uid"] if found else None

    def situation(self, tenant: int, uid: int, ahead_limit: int) -> Op[Situation | None]:
        """See ``Store.situation``. ``ahead`` stops counting at the limit and is None for what is not visible."""
        loaded = yield Statement("load_threads", {"uids": [uid], "attempts": "{}"})
        if not loaded or loaded[0]["tenant"] != tenant:
            return None
        thread = rows.thread(loaded[0])
        key = thread.envelope.next_queue_key
        queue = (yield from self.queues(tenant, [key])).get(key) if key is not None else None
        ahead = None
        if queue is not None and queue.retired_at is None:
            params = {"tenant": tenant, "queue_key": key, "uid": uid, "limit": ahead_limit}
            counted = yield Statement("ahead", params)
            ahead = counted[0]["ahead"] if counted else None
        live = yield Statement("live_by_worker", {"tenant": tenant})
        return Situation(
            thread=thread,
            queue=queue if queue is not None and queue.retired_at is None else None,
            workers=(yield from self.workers(tenant)),
            live_leases={row["worker"]: row["live"] for row in live},
            ahead=ahead,
        )

    def history(self, tenant: int, uid: int) -> Op[History | None]:
        """See ``Store.history``."""
        subject = yield from self.subject(tenant, uid)
        told = yield Statement("evidence", {"uids": [uid], "tenant": tenant, "without": ["token_hash", "claim_hash"]})
        if subject is None or not told:
            return None
        thread, facts = proof_of(told[0])
        refusals = yield Statement("refusals_of_subject", {"tenant": tenant, "uid": uid})
        return History(
            subject, thread, facts, [_lease(row) for row in told[0]["attempts"]], [refusal(row) for row in refusals]
        )

    def facts(self, thread: int, after_seq: int = 0, limit: int = 1000) -> Op[list[Fact]]:
        """See ``Store.facts``."""
        found = yield Statement("facts", {"thread": thread, "after_seq": after_seq, "limit": limit})
        return [rows.fact(row) for row in found]

    def items(self, tenant: int, queue_key: str, limit: int, after: OrderKey | None = None) -> Op[list[Item]]:
        """See ``Store.items``."""
        params = {"tenant": tenant, "queue_key": queue_key, "limit": limit} | after_params(after)
        found = yield Statement("items", params)
        return [Item(rows.envelope(row), row["name"], row["external_ref"], row["since"]) for row in found]

    def counts(self, tenant: int, queue_keys: Sequence[str], window_seconds: float) -> Op[list[QueueCounts]]:
        """See ``Store.counts``; one for each key that an active queue has, in the order asked for."""
        params = {"tenant": tenant, "queue_keys": list(queue_keys), "window": window_seconds}
        return [_counts(row, window_seconds) for row in (yield Statement("counts", params))]

    def leases(
        self, tenant: int, status: LeaseStatus | None, limit: int, before: int | None = None,
        queue_key: str | None = None, worker: int | None = None,
    ) -> Op[list[LeaseRow]]:  # fmt: skip
        """See ``Store.leases``."""
        params = _page(tenant, limit, before) | {"queue_key": queue_key, "worker": worker}
        if status is LeaseStatus.ACTIVE:
            found = yield Statement("active_leases", params)
        elif status in _UNFINISHED:
            found = yield Statement("unfinished_leases", params | {"status": str(status)})
        else:
            found = yield Statement("leases", params | {"status": str(status) if status is not None else None})
        return [_lease(row) for row in found]

    def dead_letters(
        self, tenant: int, *, open_only: bool, limit: int, before: int | None = None, queue_key: str | None = None
    ) -> Op[list[DeadLetterRow]]:
        """See ``Store.dead_letters``."""
        params = _page(tenant, limit, before) | {"open_only": open_only, "queue_key": queue_key}
        found = yield Statement("dead_letters", params)
        return [
            DeadLetterRow(rows.dead_letter(row), row["template"], row["name"], row["error_message"], row["error_code"])
            for row in found
        ]

    def holds(
        self, tenant: int, *, active_only: bool, limit: int, before: int | None = None, queue_key: str | None = None
    ) -> Op[list[HoldRow]]:
        """See ``Store.holds``."""
        params = _page(tenant, limit, before) | {"active_only": active_only, "queue_key": queue_key}
        found = yield Statement("holds", params)
        return [HoldRow(rows.hold(row), row["name"]) for row in found]

    def lineage(self, tenant: int, uid: int) -> Op[list[Edge]]:
        """See ``Store.lineage``; of a queue's or a worker's attempts, holds and dead letters the newest 1,000."""
        return [Edge(**row) for row in (yield Statement("lineage", {"tenant": tenant, "uid": uid}))]


def _page(tenant: int, limit: int, before: int | None) -> dict[str, Any]:
    return {"tenant": tenant, "limit": limit, "before": before if before is not None else NO_UID_IS_ABOVE}


def _lease(row: rows.Row) -> LeaseRow:
    return LeaseRow(rows.attempt(row), row["tenant"], row["error_message"], row["result"], row["result_ref"])


def refusal(row: rows.Row) -> RefusalRow:
    """A refusal from its row."""
    names = ("code", "action", "actor", "message", "subject", "lease", "worker", "queue_key")
    return RefusalRow(row["at"], Refused(**{name: row[name] for name in names}))


def _counts(row: rows.Row, window_seconds: float) -> QueueCounts:
    succeeded, failed = row["succeeded_lately"], row["failed_lately"]
    return QueueCounts(
        queue_key=row["queue_key"],
        queue_depth=row["depth"],
        oldest_job_age_seconds=row["oldest"],
        newest_job_age_seconds=row["newest"],
        active_leases=row["active_leases"],
        expired_leases_total=row["expired"],
        retryable_failures_total=row["retryable"],
        terminal_failures_total=row["terminal"],
        throughput_success_per_minute=succeeded * 60 / window_seconds,
        throughput_failure_per_minute=failed * 60 / window_seconds,
        failure_rate=failed / (succeeded + failed) if succeeded + failed else 0.0,
        dead_letter_count=row["dead_letters"],
        held_count=row["held"],
        worker_online_count=row["workers"],
        worker_heartbeat_lag_seconds=row["lag"],
        claim_conflict_total=row["conflicts"],
        idempotent_replay_total=row["replays"],
    )
