"""What ``verify`` reads of the memory store."""

from __future__ import annotations

import itertools
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence

from tenure.model.attempt import Attempt
from tenure.model.fact import Fact
from tenure.model.fact_types import COMPLETED, REGISTRY
from tenure.model.json_text import instant, payload_hash
from tenure.model.states import State
from tenure.model.thread import FOREVER, SubjectThread
from tenure.store.memory.room import Room, operation
from tenure.store.records import Divergence


class Verifying(Room):
    """Evidence, thread by thread, and the look across all of them."""

    @operation
    def subjects_after(self, tenant: int | None, after: int, limit: int, sample: float | None) -> list[int]:
        """See ``Store.subjects_after``; a sample is drawn by a hash of the uid, so it is the same every time."""
        uids = (t.envelope.uid for t in self._data.threads_of(tenant) if t.envelope.uid > after)
        drawn = (uid for uid in uids if sample is None or zlib.crc32(str(uid).encode()) < sample * 2**32)
        return sorted(drawn)[:limit]

    @operation
    def subject_count(self, tenant: int | None) -> int:
        """See ``Store.subject_count``."""
        return sum(1 for _ in self._data.threads_of(tenant))

    @operation
    def owners_after(self, tenant: int | None, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        """See ``Store.owners_after``."""
        data = self._data
        owners = (
            (uid, seq, head)
            for uid, (seq, head) in data.heads.items()
            if uid > after and tenant in (None, data.facts[uid][0].tenant)
        )
        return sorted(owners)[:limit]

    @operation
    def evidence(self, uids: Sequence[int]) -> list[tuple[SubjectThread, list[Fact]]]:
        """See ``Store.evidence``."""
        data = self._data
        return [(data.threads[uid], list(data.facts[uid])) for uid in uids if uid in data.threads]

    @operation
    def data_divergences(self, uids: Sequence[int]) -> list[Divergence]:
        """See ``Store.data_divergences``."""
        return [divergence for uid in uids if uid in self._data.threads for divergence in self._unproved(uid)]

    def _unproved(self, uid: int) -> Iterator[Divergence]:
        data, subject, facts = self._data, self._data.subjects[uid], self._data.facts[uid]
        first = facts[0]
        parents = sorted(parent for parent, child, relation in data.links if child == uid and relation == "parent")
        proof = payload_hash(
            [
                subject.template, first.queue_key, subject.properties, subject.name, subject.external_ref,
                subject.payload_ref, subject.correlation_id, first.data, first.state is not State.PENDING, parents,
            ]
        )  # fmt: skip
        if proof != first.payload_hash:
            yield Divergence("inputs_differ", uid, "The subject's data is not what its first fact proves.")
        for fact in facts:
            if (
                fact.type == COMPLETED
                and fact.data is None
                and fact.state is State.COMPLETED
                and fact.lease is not None
            ):
                details = data.details.get(fact.lease) or {}
                said = {k: details[k] for k in ("result", "result_ref") if details.get(k) is not None}
                if payload_hash(said) != fact.payload_hash:
                    yield Divergence(
                        "result_differs", uid, "A result is not what its fact proves.", {"lease": fact.lease}
                    )

    @operation
    def overall_divergences(self, tenant: int | None) -> list[Divergence]:
        """See ``Store.overall_divergences``."""
        found: list[Divergence] = []
        for thread in self._data.threads_of(tenant):
            found += [*_overlaps(thread), *_loose_dead_letters(thread)]
        for uid, facts in self._data.facts.items():
            found += [
                Divergence(
                    "unregistered_fact_type", uid, f"Fact type {fact.type} is not registered.", {"seq": fact.seq}
                )
                for fact in facts
                if fact.type not in REGISTRY and tenant in (None, fact.tenant)
            ]
        return found


def _overlaps(thread: SubjectThread) -> Iterator[Divergence]:
    by_slot: defaultdict[int, list[Attempt]] = defaultdict(list)
    for attempt in thread.attempts.values():
        if attempt.claimed_at is not None:
            by_slot[attempt.slot].append(attempt)
    for slot, attempts in by_slot.items():
        attempts.sort(key=lambda a: (a.claimed_at or FOREVER, a.uid))
        for one, next_one in itertools.pairwise(attempts):
            if next_one.claimed_at is not None and next_one.claimed_at < (one.ended_at or FOREVER):
                yield Divergence(
                    "overlapping_leases", thread.envelope.uid, f"Two leases held slot {slot} at once.",
                    {"leases": [one.uid, next_one.uid], "from": instant(next_one.claimed_at)},
                )  # fmt: skip


def _loose_dead_letters(thread: SubjectThread) -> Iterator[Divergence]:
    for letter in thread.dead_letters.values():
        if letter.attempt not in thread.attempts:
            yield Divergence(
                "dead_letter_without_record", thread.envelope.uid, "A dead letter has no record.", {"uid": letter.uid}
            )
