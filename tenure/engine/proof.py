"""Whether a thread proves itself: no gap, every hash right, and its facts add up to its rows (design 01, Verify)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from itertools import pairwise
from typing import Any

from tenure.model import fact_types as ft
from tenure.model.attempt import Attempt
from tenure.model.fact import Fact
from tenure.model.json_text import instant
from tenure.model.thread import FOREVER, SubjectThread, fold
from tenure.store.records import Divergence

_ENDINGS = frozenset({ft.COMPLETED, ft.FAILED, ft.RELEASED, ft.DEFERRED, ft.EXPIRED})


def subject_divergences(rows: SubjectThread, facts: Sequence[Fact]) -> Iterator[Divergence]:
    """Everything wrong with one subject: ``rows`` is the thread as its rows have it, ``facts`` what was told."""
    env = rows.envelope
    chain = Chain(env.uid)
    chain.extend(facts)
    yield from chain.divergences(env.seq, env.head)
    yield from _second_endings(env.uid, facts)
    yield from _overlaps(rows)
    try:
        told = fold(facts, env.template)
    except Exception as error:  # whatever a changed fact may hold, it must be found and not stop the search
        yield Divergence("unfoldable", env.uid, f"The facts do not add up: {type(error).__name__}: {error}.")
        return
    if told is not None:
        yield from _differences(rows, told)


class Chain:
    """The facts of one thread, seen in order: gap-free ``seq``, each hash over the one before."""

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self.seq = 0
        self.hash = b""
        self._found: list[Divergence] = []

    def extend(self, facts: Iterable[Fact]) -> None:
        """Look at the next facts; of each kind of fault the first is kept."""
        for fact in facts:
            if fact.seq != self.seq + 1:
                self._note("seq_gap", f"Fact {fact.seq} follows fact {self.seq}.", seq=fact.seq)
            elif fact.content_hash(self.hash) != fact.hash:
                self._note("hash_broken", f"Fact {fact.seq} is not what was hashed.", seq=fact.seq, type=fact.type)
            self.seq, self.hash = fact.seq, fact.hash

    def divergences(self, length: int, head: bytes) -> list[Divergence]:
        """What was found, given length and last hash as the thread's owner has them."""
        if self.seq != length:
            self._note("seq_gap", f"The thread ends with fact {self.seq}, its owner knows of {length}.", seq=self.seq)
        elif self.hash != head:
            self._note("hash_broken", "The last fact's hash is not the one that its owner keeps.", seq=self.seq)
        return self._found

    def _note(self, kind: str, message: str, **evidence: Any) -> None:
        if all(divergence.kind != kind for divergence in self._found):
            self._found.append(Divergence(kind, self.thread, message, evidence))


def _second_endings(thread: int, facts: Sequence[Fact]) -> Iterator[Divergence]:
    ends: Counter[int] = Counter(f.lease for f in facts if f.lease is not None and f.type in _ENDINGS)
    for fact in facts:
        ended = fact.data.get("ended") if isinstance(fact.data, Mapping) else None
        ends.update(uid for uid in (ended if isinstance(ended, list | tuple) else ()) if isinstance(uid, int))
    for lease, times in ends.items():
        if times > 1:
            yield Divergence("second_ending", thread, f"A lease ended {times} times.", {"lease": lease})


def _overlaps(rows: SubjectThread) -> Iterator[Divergence]:
    of_slot: defaultdict[int, list[Attempt]] = defaultdict(list)
    for attempt in rows.attempts.values():
        if attempt.lease_status is not None:
            of_slot[attempt.slot].append(attempt)
    for slot, attempts in of_slot.items():
        attempts.sort(key=lambda a: (a.claimed_at or FOREVER, a.uid))
        for one, other in pairwise(attempts):
            if (other.claimed_at or FOREVER) < (one.ended_at or FOREVER):
                yield Divergence(
                    "overlapping_leases", rows.envelope.uid, f"Two leases held slot {slot} at once.",
                    {"leases": [one.uid, other.uid], "slot": slot},
                )  # fmt: skip


def _differences(rows: SubjectThread, told: SubjectThread) -> Iterator[Divergence]:
    uid = rows.envelope.uid
    yield from _compared("envelope", uid, uid, rows.envelope, told.envelope)
    for kind, have, ought in (
        ("attempt", rows.attempts, told.attempts),
        ("hold", rows.holds, told.holds),
        ("dead_letter", rows.dead_letters, told.dead_letters),
    ):
        for each in sorted({*have, *ought}):
            yield from _compared(kind, uid, each, have.get(each), ought.get(each))
    if rows.outputs != told.outputs:
        yield Divergence(
            "output_differs", uid, "The edges to outputs are not those that the facts tell of.",
            {"missing": sorted(told.outputs - rows.outputs), "untold": sorted(rows.outputs - told.outputs)},
        )  # fmt: skip


def _compared(kind: str, thread: int, uid: int, have: Any, ought: Any) -> Iterator[Divergence]:
    if have == ought:
        return
    what = kind.replace("_", " ")
    if have is None or ought is None:
        message = f"The {what} is missing." if have is None else f"No fact tells of this {what}."
        yield Divergence(f"{kind}_differs", thread, message, {"uid": uid})
        return
    different = {
        f.name: {"rows": _plain(getattr(have, f.name)), "facts": _plain(getattr(ought, f.name))}
        for f in fields(have)
        if getattr(have, f.name) != getattr(ought, f.name)
    }
    message = f"The {what} differs from what its facts tell in {', '.join(different)}."
    yield Divergence(f"{kind}_differs", thread, message, {"uid": uid, "fields": different})


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return instant(value)
    return value.hex() if isinstance(value, bytes) else value
