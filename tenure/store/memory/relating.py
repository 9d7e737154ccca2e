"""The lineage of the memory store: every edge by S1's relation names."""

from __future__ import annotations

from collections.abc import Iterator

from tenure.model.attempt import Attempt, record_of
from tenure.model.thread import SubjectThread
from tenure.store.memory.room import Room, operation
from tenure.store.records import Edge


class Relating(Room):
    """Edges, worked out from what threads say and the links that were made."""

    @operation
    def lineage(self, tenant: int, uid: int) -> list[Edge]:
        """See ``Store.lineage``; in order of parent, child and relation."""
        found = {edge for edge in self._edges(tenant) if uid in (edge.parent, edge.child)}
        return sorted(found, key=lambda e: (e.parent, e.child, e.relation))

    def _edges(self, tenant: int) -> Iterator[Edge]:
        for thread in self._data.threads_of(tenant):
            for attempt in thread.attempts.values():
                yield from self._of_attempt(attempt)
            yield from self._of_holds(tenant, thread)
            yield from self._of_dead_letters(tenant, thread)
            for record, output in thread.outputs:
                yield Edge(record, output, "execution_record_output")
        for (parent, child, relation), owner in self._data.links.items():
            if owner == tenant:
                yield Edge(parent, child, relation)

    def _of_attempt(self, attempt: Attempt) -> Iterator[Edge]:
        queue, record = self._data.queue_uid(attempt), record_of(attempt.uid)
        owners = [("subject", attempt.subject), ("worker", attempt.worker), ("queue", queue)]
        for name, owner in owners:
            if owner is not None:
                yield Edge(owner, record, f"execution_{name}_record")
                if attempt.lease_status is not None:
                    yield Edge(owner, attempt.uid, f"execution_{name}_lease")
        if attempt.lease_status is not None:
            yield Edge(attempt.uid, record, "execution_lease_record")

    def _of_holds(self, tenant: int, thread: SubjectThread) -> Iterator[Edge]:
        for hold in thread.holds.values():
            queue = self._data.queue_of(tenant, hold.queue_key)
            yield Edge(hold.subject, hold.uid, "execution_subject_hold")
            if queue is not None:
                yield Edge(queue.uid, hold.uid, "execution_queue_hold")
            if hold.worker is not None:
                yield Edge(hold.worker, hold.uid, "execution_actor_hold")

    def _of_dead_letters(self, tenant: int, thread: SubjectThread) -> Iterator[Edge]:
        for letter in thread.dead_letters.values():
            queue = self._data.queue_of(tenant, letter.queue_key)
            yield Edge(letter.subject, letter.uid, "execution_subject_dead_letter")
            if queue is not None:
                yield Edge(queue.uid, letter.uid, "execution_queue_dead_letter")
            yield Edge(record_of(letter.attempt), letter.uid, "execution_record_dead_letter")
