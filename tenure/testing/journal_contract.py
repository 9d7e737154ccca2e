"""The contract of ``tenure.flow.journal.JournalStorage``, to be run on every adapter (S3, Journal Storage Boundary).

Subclass ``JournalContract`` in a test module and give it the fixture ``journal``, a ``JournalBench`` over the adapter::

    class TestMyJournal(JournalContract):
        @pytest.fixture
        def journal(self, tmp_path):
            return MyBench(tmp_path)

What the contract asks for: order, optimistic conflict by ``expected_rev``, all or nothing, durable reload, checkpoints
that are overwritten and never become the truth, and faults that are told apart: not found, conflict, corruption.
"""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest

from tenure.flow.journal import (
    Append,
    Checkpoint,
    Entry,
    Journal,
    JournalConflict,
    JournalCorrupt,
    JournalStorage,
    JournalUnknown,
)
from tenure.flow.rows import RunRow
from tenure.model.errors import ForbiddenKey
from tenure.model.fact import Fact
from tenure.store.operation import Op

T = TypeVar("T")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FORMAT = 7
_numbers = itertools.count(1)


class JournalBench(ABC):
    """An adapter under test, and what a test has to do behind its back."""

    storage: JournalStorage
    tenant: int = 1

    @abstractmethod
    def run(self, op: Op[T]) -> T:
        """Drive an operation to its result."""

    @abstractmethod
    def reopened(self) -> JournalBench:
        """The same journal after its process was started again: nothing in memory is left."""

    @abstractmethod
    def damage(self, thread: int, seq: int, **fields: Any) -> None:
        """Change fields of an entry where it is kept, as a fault of the storage would: ``data``, ``seq``, ``hash``."""

    @abstractmethod
    def lose(self, thread: int, seq: int) -> None:
        """Take an entry away where it is kept."""

    @abstractmethod
    def mix(self, thread: int, seq: int, other: int) -> None:
        """Put the entry of that seq of another thread in place of this thread's."""

    def lose_checkpoint(self, thread: int) -> None:
        """Take a checkpoint away; by default it is made useless by another format."""
        kept = self.run(self.storage.checkpoint(thread))
        if kept is not None:
            self.run(
                self.storage.put_checkpoints(
                    [Checkpoint(kept.thread, kept.rev, kept.head, kept.format + 1, kept.state)]
                )
            )

    def thread(self) -> int:
        """A thread that is still to begin."""
        return 1_000_000 + 2 * next(_numbers)

    def row(self, thread: int) -> RunRow | None:
        """What the first append to a thread needs beside its entries, if the storage keeps rows."""
        return None

    def beside(self) -> AbstractContextManager[JournalBench]:
        """The same journal for another thread of the process: over a connection of its own where there are connections."""
        return nullcontext(self)


def entries(*numbers: int, **data: Any) -> list[Entry]:
    """Entries that can be told apart."""
    return [
        Entry("run.signal_received", {"signal": f"n{n}", **data}, NOON + timedelta(seconds=n), "user:ada")
        for n in numbers
    ]


def signals(facts: Sequence[Fact]) -> list[str]:
    """What tells entries apart, in the order in which they came."""
    return [(fact.data or {})["signal"] for fact in facts]


class JournalContract:
    """The tests; see the module."""

    @pytest.fixture
    def journal(self) -> JournalBench:
        """The adapter under test."""
        raise NotImplementedError("Give the fixture `journal`: a JournalBench over the adapter.")

    # Order and revisions ------------------------------------------------------------------------------------------
    def test_entries_come_back_in_the_order_in_which_they_were_appended(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1, 2)
        assert journal.run(journal.storage.append(thread, entries(3), 2, tenant=journal.tenant)) == 3
        facts = journal.run(journal.storage.load(thread))
        assert signals(facts) == ["n1", "n2", "n3"]
        assert [fact.seq for fact in facts] == [1, 2, 3]
        assert {fact.thread for fact in facts} == {thread}

    def test_what_was_appended_comes_back_whole(self, journal: JournalBench) -> None:
        data = {"signal": "n1", "n": 1.5, "deep": {"list": [1, None, True, 'ä"\\'], "empty": {}}}
        entry = Entry("run.signal_received", data, NOON, "user:ada", "key", b"p" * 32, "order-7", 4, "trace")
        thread = journal.thread()
        journal.run(journal.storage.append(thread, [entry], 0, tenant=journal.tenant, row=journal.row(thread)))
        [fact] = journal.run(journal.storage.load(thread))
        assert (fact.type, fact.at, fact.actor) == ("run.signal_received", NOON, "user:ada")
        assert fact.data == data
        assert (fact.idempotency_key, fact.payload_hash, fact.correlation_id) == ("key", b"p" * 32, "order-7")
        assert (fact.causation_id, fact.trace_id) == (4, "trace")

    def test_reading_can_begin_after_a_revision_and_stop_at_a_limit(self, journal: JournalBench) -> None:
        thread = _begun(journal, *range(1, 11))
        assert signals(journal.run(journal.storage.load(thread, 7))) == ["n8", "n9", "n10"]
        assert signals(journal.run(journal.storage.load(thread, 2, 3))) == ["n3", "n4", "n5"]
        assert journal.run(journal.storage.load(thread, 10)) == []

    def test_entries_are_chained_by_hash(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1, 2)
        one, two = journal.run(journal.storage.load(thread))
        assert one.hash == one.content_hash(b"")
        assert two.hash == two.content_hash(one.hash)

    # Conflicts ----------------------------------------------------------------------------------------------------
    def test_a_stale_append_is_a_conflict_and_writes_nothing(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1, 2)
        with pytest.raises(JournalConflict):
            journal.run(journal.storage.append(thread, entries(3), 1, tenant=journal.tenant))
        assert signals(journal.run(journal.storage.load(thread))) == ["n1", "n2"]

    def test_an_append_from_the_future_is_a_conflict(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1)
        with pytest.raises(JournalConflict):
            journal.run(journal.storage.append(thread, entries(3), 2, tenant=journal.tenant))

    def test_a_thread_begins_once(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1)
        with pytest.raises(JournalConflict):
            _append(journal, thread, entries(1), 0)
        assert len(journal.run(journal.storage.load(thread))) == 1

    def test_of_concurrent_appends_at_one_revision_one_wins(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1)
        outcomes: list[object] = []
        start = threading.Barrier(6)

        def race(number: int) -> None:
            with journal.beside() as own:
                start.wait(30)
                try:
                    outcomes.append(own.run(own.storage.append(thread, entries(number), 1, tenant=own.tenant)))
                except JournalConflict as error:
                    outcomes.append(error)

        racers = [threading.Thread(target=race, args=(n,)) for n in range(2, 8)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join(60)
        assert [outcome for outcome in outcomes if outcome == 2] == [2]
        assert len(outcomes) == 6
        assert len(journal.run(journal.storage.load(thread))) == 2

    # Sets ---------------------------------------------------------------------------------------------------------
    def test_a_set_is_appended_to_all_threads(self, journal: JournalBench) -> None:
        old, new = _begun(journal, 1), journal.thread()
        ends = journal.run(
            journal.storage.append_many(
                [
                    Append(old, journal.tenant, entries(2, 3), 1),
                    Append(new, journal.tenant, entries(4), 0, row=journal.row(new)),
                ]
            )
        )
        assert [end.rev for end in ends] == [3, 1]
        assert ends[0].head == journal.run(journal.storage.load(old))[-1].hash
        assert signals(journal.run(journal.storage.load(old))) == ["n1", "n2", "n3"]
        assert signals(journal.run(journal.storage.load(new))) == ["n4"]

    def test_a_set_with_a_stale_one_is_appended_to_none(self, journal: JournalBench) -> None:
        fresh, late, new = _begun(journal, 1), _begun(journal, 1, 2), journal.thread()
        with pytest.raises(JournalConflict) as caught:
            journal.run(
                journal.storage.append_many(
                    [
                        Append(fresh, journal.tenant, entries(2), 1),
                        Append(new, journal.tenant, entries(2), 0, row=journal.row(new)),
                        Append(late, journal.tenant, entries(3), 1),
                    ]
                )
            )
        assert caught.value.evidence["thread"] == late
        assert signals(journal.run(journal.storage.load(fresh))) == ["n1"]
        with pytest.raises(JournalUnknown):
            journal.run(journal.storage.load(new))

    def test_a_set_that_cannot_begin_one_of_its_threads_begins_none(self, journal: JournalBench) -> None:
        there, new, old = _begun(journal, 1), journal.thread(), _begun(journal, 1)
        with pytest.raises(JournalConflict):
            journal.run(
                journal.storage.append_many(
                    [
                        Append(new, journal.tenant, entries(2), 0, row=journal.row(new)),
                        Append(there, journal.tenant, entries(2), 0, row=journal.row(there)),
                        Append(old, journal.tenant, entries(2), 1),
                    ]
                )
            )
        with pytest.raises(JournalUnknown):
            journal.run(journal.storage.load(new))
        assert signals(journal.run(journal.storage.load(old))) == ["n1"]

    def test_many_are_read_at_once(self, journal: JournalBench) -> None:
        one, two = _begun(journal, 1, 2), _begun(journal, 3)
        found = journal.run(journal.storage.load_many([two, one, journal.thread()], FORMAT))
        assert sorted(found) == sorted([one, two])
        assert signals(_sound(found[one]).entries) == ["n1", "n2"]
        assert _sound(found[two]).end.rev == 1

    # Not found ----------------------------------------------------------------------------------------------------
    def test_a_thread_that_never_began_is_not_found(self, journal: JournalBench) -> None:
        with pytest.raises(JournalUnknown):
            journal.run(journal.storage.load(journal.thread()))
        with pytest.raises(JournalUnknown):
            journal.run(journal.storage.append(journal.thread(), entries(2), 1, tenant=journal.tenant))

    def test_what_an_entry_may_not_carry_is_refused(self, journal: JournalBench) -> None:
        thread = journal.thread()
        with pytest.raises(ForbiddenKey):
            _append(journal, thread, entries(1, token="t"), 0)  # noqa: S106 # nosec B106
        with pytest.raises(JournalUnknown):
            journal.run(journal.storage.load(thread))

    # Corruption ---------------------------------------------------------------------------------------------------
    def test_a_changed_payload_is_corruption(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1, 2, 3)
        journal.damage(thread, 2, data={"signal": "forged"})
        assert _fault(journal, thread) == (2, "hash")

    def test_a_missing_entry_is_corruption(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1, 2, 3)
        journal.lose(thread, 2)
        assert _fault(journal, thread) == (3, "gap")

    def test_a_missing_last_entry_is_corruption(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1, 2, 3)
        journal.lose(thread, 3)
        assert _fault(journal, thread) == (2, "gap")

    def test_an_entry_of_another_thread_is_corruption(self, journal: JournalBench) -> None:
        thread, other = _begun(journal, 1, 2, 3), _begun(journal, 4, 5, 6)
        journal.mix(thread, 2, other)
        assert _fault(journal, thread)[0] == 2

    def test_a_corrupt_thread_does_not_keep_others_from_being_read(self, journal: JournalBench) -> None:
        thread, sound = _begun(journal, 1, 2), _begun(journal, 3)
        journal.damage(thread, 1, data={"signal": "forged"})
        found = journal.run(journal.storage.load_many([thread, sound], FORMAT))
        assert isinstance(found[thread], JournalCorrupt)
        assert signals(_sound(found[sound]).entries) == ["n3"]

    # Checkpoints --------------------------------------------------------------------------------------------------
    def test_a_checkpoint_is_kept_with_the_revision_that_it_covers(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1, 2, 3)
        kept = _checkpointed(journal, thread, 2, {"sum": 3, "names": ["n1", "n2"]})
        assert journal.run(journal.storage.checkpoint(thread)) == kept
        read = _read(journal, thread)
        assert read.checkpoint == kept
        assert signals(read.entries) == ["n3"]

    def test_a_checkpoint_is_overwritten(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1, 2, 3)
        _checkpointed(journal, thread, 2, {"sum": 3})
        later = _checkpointed(journal, thread, 3, {"sum": 6})
        assert journal.run(journal.storage.checkpoint(thread)) == later
        earlier = _checkpointed(journal, thread, 1, {"sum": 1})
        assert _read(journal, thread).checkpoint == earlier

    def test_a_stale_checkpoint_is_completed_by_the_tail(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1, 2)
        _checkpointed(journal, thread, 2, {"sum": 3})
        _append(journal, thread, entries(3, 4), 2)
        read = _read(journal, thread)
        assert read.checkpoint is not None
        assert read.checkpoint.rev == 2
        assert signals(read.entries) == ["n3", "n4"]
        assert read.end.rev == 4

    def test_losing_a_checkpoint_loses_nothing(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1, 2, 3)
        _checkpointed(journal, thread, 2, {"sum": 3})
        journal.lose_checkpoint(thread)
        read = _read(journal, thread)
        assert read.checkpoint is None
        assert signals(read.entries) == ["n1", "n2", "n3"]

    def test_a_checkpoint_of_another_format_is_not_used(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1, 2, 3)
        _checkpointed(journal, thread, 2, {"sum": 3}, FORMAT - 1)
        read = _read(journal, thread)
        assert read.checkpoint is None
        assert signals(read.entries) == ["n1", "n2", "n3"]

    def test_a_checkpoint_of_what_is_not_there_is_not_used(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1, 2)
        head = journal.run(journal.storage.load(thread))[-1].hash
        journal.run(journal.storage.put_checkpoints([Checkpoint(thread, 9, head, FORMAT, {"sum": 99})]))
        read = _read(journal, thread)
        assert read.checkpoint is None
        assert signals(read.entries) == ["n1", "n2"]

    def test_a_checkpoint_that_does_not_fit_the_chain_is_told_as_corruption(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1, 2, 3)
        journal.run(journal.storage.put_checkpoints([Checkpoint(thread, 2, b"x" * 32, FORMAT, {"sum": 99})]))
        assert isinstance(journal.run(journal.storage.load_many([thread], FORMAT))[thread], JournalCorrupt)

    def test_checkpoints_of_many_are_put_at_once(self, journal: JournalBench) -> None:
        threads = [_begun(journal, 1), _begun(journal, 1)]
        heads = [journal.run(journal.storage.load(thread))[-1].hash for thread in threads]
        kept = [Checkpoint(t, 1, head, FORMAT, {"sum": 1}) for t, head in zip(threads, heads, strict=True)]
        journal.run(journal.storage.put_checkpoints(kept))
        assert [_read(journal, thread).checkpoint for thread in threads] == kept

    # Restart ------------------------------------------------------------------------------------------------------
    def test_everything_is_there_after_a_restart(self, journal: JournalBench) -> None:
        thread = _begun(journal, 1, 2, 3)
        kept = _checkpointed(journal, thread, 2, {"sum": 3})
        again = journal.reopened()
        assert signals(again.run(again.storage.load(thread))) == ["n1", "n2", "n3"]
        assert _read(again, thread).checkpoint == kept
        assert again.run(again.storage.append(thread, entries(4), 3, tenant=again.tenant)) == 4


def _append(journal: JournalBench, thread: int, told: Sequence[Entry], expected_rev: int) -> int:
    row = journal.row(thread) if expected_rev == 0 else None
    return journal.run(journal.storage.append(thread, told, expected_rev, tenant=journal.tenant, row=row))


def _begun(journal: JournalBench, *numbers: int) -> int:
    thread = journal.thread()
    _append(journal, thread, entries(*numbers), 0)
    return thread


def _checkpointed(
    journal: JournalBench, thread: int, rev: int, state: dict[str, Any], format_: int = FORMAT
) -> Checkpoint:
    head = journal.run(journal.storage.load(thread))[rev - 1].hash
    kept = Checkpoint(thread, rev, head, format_, state)
    journal.run(journal.storage.put_checkpoints([kept]))
    return kept


def _read(journal: JournalBench, thread: int) -> Journal:
    return _sound(journal.run(journal.storage.load_many([thread], FORMAT))[thread])


def _sound(read: Journal | JournalCorrupt) -> Journal:
    assert isinstance(read, Journal), read
    return read


def _fault(journal: JournalBench, thread: int) -> tuple[int, str]:
    with pytest.raises(JournalCorrupt) as caught:
        journal.run(journal.storage.load(thread))
    assert isinstance(journal.run(journal.storage.load_many([thread], FORMAT))[thread], JournalCorrupt)
    return caught.value.evidence["seq"], caught.value.evidence["fault"]
