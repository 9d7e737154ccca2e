"""What the memory store answers to readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tenure.model.attempt import Attempt
from tenure.model.fact import Fact
from tenure.model.ordering import OrderKey, order_key
from tenure.model.queue import Queue
from tenure.model.states import HoldStatus, LeaseStatus, Resolution, WorkerStatus
from tenure.model.thread import SubjectThread
from tenure.model.visibility import eligible_since, is_visible
from tenure.model.why import Situation
from tenure.store.memory.room import Room, operation
from tenure.store.records import DeadLetterRow, History, HoldRow, Item, LeaseRow, Origin, Subject


class Reading(Room):
    """Read models; nothing is written here."""

    @operation
    def subject(self, tenant: int, uid: int) -> Subject | None:
        """See ``Store.subject``."""
        found = self._data.subjects.get(uid)
        return found if found is not None and found.tenant == tenant else None

    @operation
    def known_subjects(self, tenant: int, uids: Iterable[int]) -> set[int]:
        """See ``Store.known_subjects``."""
        subjects = self._data.subjects
        return {uid for uid in uids if uid in subjects and subjects[uid].tenant == tenant}

    @operation
    def origins(self, tenant: int, uids: Iterable[int]) -> dict[int, Origin]:
        """See ``Store.origins``."""
        data = self._data
        found = {}
        for uid in uids:
            subject = data.subjects.get(uid)
            if subject is not None and subject.tenant == tenant:
                origin = Origin(subject.correlation_id, data.facts[uid][0].trace_id)
                if origin.correlation_id is not None or origin.trace is not None:
                    found[uid] = origin
        return found

    @operation
    def find_subject(self, tenant: int, external_ref: str) -> int | None:
        """See ``Store.find_subject``."""
        return self._data.external_refs.get((tenant, external_ref))

    @operation
    def situation(self, tenant: int, uid: int, ahead_limit: int) -> Situation | None:
        """See ``Store.situation``. ``ahead`` stops counting at the limit and is None for what is not visible."""
        data, now = self._data, self._data.clock()
        thread = data.threads.get(uid)
        if thread is None or thread.envelope.tenant != tenant:
            return None
        queue = data.active_queue(tenant, thread.envelope.next_queue_key)
        ahead = None
        if queue is not None and is_visible(thread, queue, now):
            place = order_key(thread.envelope, eligible_since(thread, now))
            ahead = min(sum(key < place for key, _ in self._visible(tenant, queue)), ahead_limit)
        workers = [w for w in data.workers.values() if w.tenant == tenant and w.status is not WorkerStatus.RETIRED]
        return Situation(
            thread, queue, sorted(workers, key=lambda w: w.worker_key), self._live_by_worker(tenant), ahead
        )

    @operation
    def history(self, tenant: int, uid: int) -> History | None:
        """See ``Store.history``."""
        data = self._data
        thread = data.threads.get(uid)
        if thread is None or thread.envelope.tenant != tenant:
            return None
        attempts = sorted(thread.attempts.values(), key=lambda a: a.uid)
        refusals = [row for _, row in data.refusals if row.refused.subject == uid]
        return History(
            data.subjects[uid], thread, list(data.facts[uid]), [self._lease_row(tenant, a) for a in attempts], refusals
        )

    @operation
    def facts(self, thread: int, after_seq: int = 0, limit: int = 1000) -> list[Fact]:
        """See ``Store.facts``."""
        return list(self._data.facts.get(thread, ()))[after_seq : after_seq + limit]

    @operation
    def items(self, tenant: int, queue_key: str, limit: int, after: OrderKey | None = None) -> list[Item]:
        """See ``Store.items``."""
        queue = self._data.active_queue(tenant, queue_key)
        if queue is None:
            return []
        page = [(key, t) for key, t in self._visible(tenant, queue) if after is None or key > after][:limit]
        now = self._data.clock()
        return [
            Item(t.envelope, subject.name, subject.external_ref, eligible_since(t, now))
            for t, subject in ((t, self._data.subjects[t.envelope.uid]) for _, t in page)
        ]

    @operation
    def leases(
        self, tenant: int, status: LeaseStatus | None, limit: int, before: int | None = None,
        queue_key: str | None = None, worker: int | None = None,
    ) -> list[LeaseRow]:  # fmt: skip
        """See ``Store.leases``."""
        found = [
            attempt
            for attempt in self._data.attempts_of(tenant)
            if attempt.lease_status is not None
            and status in (None, attempt.lease_status)
            and (before is None or attempt.uid < before)
            and queue_key in (None, attempt.queue_key)
            and worker in (None, attempt.worker)
        ]
        found.sort(key=lambda a: -a.uid)
        return [self._lease_row(tenant, attempt) for attempt in found[:limit]]

    @operation
    def dead_letters(
        self, tenant: int, *, open_only: bool, limit: int, before: int | None = None, queue_key: str | None = None
    ) -> list[DeadLetterRow]:
        """See ``Store.dead_letters``."""
        found = [
            (thread, letter)
            for thread in self._data.threads_of(tenant)
            for letter in thread.dead_letters.values()
            if (letter.resolution_state is Resolution.OPEN or not open_only)
            and (before is None or letter.uid < before)
            and queue_key in (None, letter.queue_key)
        ]
        found.sort(key=lambda pair: -pair[1].uid)
        rows = []
        for thread, letter in found[:limit]:
            subject, last = self._data.subjects[letter.subject], thread.attempts[letter.attempt]
            message = self._data.details[last.uid].get("error_message")
            rows.append(DeadLetterRow(letter, subject.template, subject.name, message, last.error_code))
        return rows

    @operation
    def holds(
        self, tenant: int, *, active_only: bool, limit: int, before: int | None = None, queue_key: str | None = None
    ) -> list[HoldRow]:
        """See ``Store.holds``."""
        found = [
            hold
            for thread in self._data.threads_of(tenant)
            for hold in thread.holds.values()
            if (hold.status is HoldStatus.ACTIVE or not active_only)
            and (before is None or hold.uid < before)
            and queue_key in (None, hold.queue_key)
        ]
        found.sort(key=lambda hold: -hold.uid)
        return [HoldRow(hold, self._data.subjects[hold.subject].name) for hold in found[:limit]]

    def _visible(self, tenant: int, queue: Queue) -> list[tuple[OrderKey, SubjectThread]]:
        """What a queue shows, in order: lapsed leases count as gone (S1 section 6.4)."""
        now = self._data.clock()
        found = [
            (order_key(thread.envelope, eligible_since(thread, now)), thread)
            for thread in self._data.threads_of(tenant)
            if thread.envelope.next_queue_key == queue.queue_key and is_visible(thread, queue, now)
        ]
        return sorted(found, key=lambda pair: pair[0])

    def _live_by_worker(self, tenant: int) -> Mapping[int, int]:
        return Counter(a.worker for a in self._data.attempts_of(tenant) if a.live and a.worker is not None)

    def _lease_row(self, tenant: int, attempt: Attempt) -> LeaseRow:
        details = self._data.details[attempt.uid]
        return LeaseRow(attempt, tenant, details.get("error_message"), details.get("result"), details.get("result_ref"))
