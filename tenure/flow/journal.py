"""The storage boundary of runs: append-only threads of entries, and checkpoints that make reading them fast (S3).

A thread has a revision, the number of its entries. Appending names the revision that was read (``expected_rev``); a stale
one gets ``JournalConflict`` and writes nothing. What is read back is proved: a gap, a wrong hash, an entry of another
thread is a ``JournalCorrupt``, never replayed silently. A checkpoint holds a fold and the revision that it covers; it is
there for speed only. Every method is an operation (``Op``), so sync and async callers share one path.

Adapters: ``tenure.flow.postgres.journal`` and ``tenure.flow.memory.journal``. Whoever writes another one runs
``tenure.testing.journal_contract`` on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Protocol

from tenure.flow.rows import RunnableRow, RunRow
from tenure.model.errors import Conflict, NotFound, TenureError
from tenure.model.fact import Fact, check_data
from tenure.store.operation import Op


class JournalConflict(Conflict):
    """The thread has grown since it was read, or is there already; nothing was written."""

    code = "journal_conflict"


class JournalUnknown(NotFound):
    """There is no such thread."""

    code = "journal_unknown"


class JournalCorrupt(TenureError):
    """The entries of a thread do not prove themselves: ``evidence`` has the thread, the seq and the ``fault``."""

    code: ClassVar[str] = "journal_corrupt"
    status: ClassVar[int] = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """What is appended; its seq and hash follow from the thread."""

    type: str
    data: Mapping[str, Any] | None
    at: datetime
    actor: str
    idempotency_key: str | None = None
    payload_hash: bytes | None = None
    correlation_id: str | None = None
    causation_id: int | None = None
    trace_id: str | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """Entries for one thread that was at ``expected_rev``; 0 begins it.

    ``head`` is the hash of the entry at ``expected_rev``; an adapter looks it up where it is None. ``row`` is how the run
    stands after the entries, for storages that keep lists; the others ignore it, as they do ``runnables`` and ``links``,
    which say which subjects stand for what the entries plan, and ``payloads``, what entries refer to.
    """

    thread: int
    tenant: int
    entries: Sequence[Entry]
    expected_rev: int
    head: bytes | None = None
    row: RunRow | None = None
    runnables: Sequence[RunnableRow] = ()
    links: Sequence[tuple[int, int, str]] = ()
    payloads: Mapping[int, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a thread ends: its revision, and the hash of its last entry."""

    rev: int
    head: bytes


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A fold and the revision that it covers, with the hash there. ``format`` is that of ``state``."""

    thread: int
    rev: int
    head: bytes
    format: int
    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Journal:
    """A thread as it was read: the checkpoint that was used, if any, and the entries after it."""

    thread: int
    checkpoint: Checkpoint | None
    entries: Sequence[Fact]
    end: Position = field(default=Position(0, b""))


class JournalStorage(Protocol):
    """Where runs keep their facts."""

    def append(self, thread: int, entries: Sequence[Entry], expected_rev: int, *, tenant: int = 0,
               row: RunRow | None = None) -> Op[int]:  # fmt: skip
        """Append to one thread; its new revision. ``JournalConflict`` where ``expected_rev`` is not the present one."""
        ...

    def append_many(self, appends: Sequence[Append]) -> Op[list[Position]]:
        """Append to many threads, to all or to none; where each ends then."""
        ...

    def load(self, thread: int, after_rev: int = 0, limit: int | None = None) -> Op[list[Fact]]:
        """Entries in order, after a revision. ``JournalUnknown``, or ``JournalCorrupt`` for what does not prove itself.

        The chain is proved from the beginning or from the entry at ``after_rev``.
        """
        ...

    def load_many(self, threads: Sequence[int], format: int) -> Op[dict[int, Journal | JournalCorrupt]]:  # noqa: A002
        """For each thread that there is: its checkpoint, if one of that format covers no more than the thread has, and
        the entries after it. A corrupt thread is told of in its place and does not keep the others from being read.
        """
        ...

    def put_checkpoints(self, checkpoints: Sequence[Checkpoint]) -> Op[None]:
        """Keep checkpoints, in place of former ones of the same threads."""
        ...

    def threads(self, after: int, limit: int) -> Op[list[int]]:
        """The threads that have begun, in order, after one."""
        ...

    def checkpoint(self, thread: int) -> Op[Checkpoint | None]:
        """The checkpoint of a thread, whatever its format."""
        ...


def sealed(append: Append, head: bytes) -> list[Fact]:
    """The entries as facts of their thread: numbered, and chained by hash to the one with ``head``."""
    facts = []
    for seq, entry in enumerate(append.entries, append.expected_rev + 1):
        check_data(entry.data)
        fact = Fact(
            thread=append.thread, seq=seq, type=entry.type, at=entry.at, tenant=append.tenant, actor=entry.actor,
            data=entry.data, idempotency_key=entry.idempotency_key, payload_hash=entry.payload_hash,
            correlation_id=entry.correlation_id, causation_id=entry.causation_id, trace_id=entry.trace_id,
        )  # fmt: skip
        fact.hash = head = fact.content_hash(head)
        facts.append(fact)
    return facts


def proved(thread: int, facts: Sequence[Fact], after: Position, end: Position | None = None) -> Sequence[Fact]:
    """``facts`` if they are what was appended after a position (and up to ``end``); else ``JournalCorrupt``."""
    at = after
    for fact in facts:
        if fact.thread != thread:
            raise corrupt(thread, fact.seq, "foreign_entry", f"Entry {fact.seq} belongs to another thread.")
        if fact.seq != at.rev + 1:
            raise corrupt(thread, fact.seq, "gap", f"Entry {fact.seq} follows entry {at.rev}.")
        if fact.content_hash(at.head) != fact.hash:
            raise corrupt(thread, fact.seq, "hash", f"Entry {fact.seq} is not what was hashed.")
        at = Position(fact.seq, fact.hash)
    if end is not None and at != end:
        fault = "gap" if at.rev != end.rev else "hash"
        raise corrupt(thread, at.rev, fault, f"The entries end at {at.rev}, the thread at {end.rev}.")
    return facts


def corrupt(thread: int, seq: int, fault: str, message: str) -> JournalCorrupt:
    """The error for a thread that does not prove itself."""
    return JournalCorrupt(
        message, "Do not go on with this run; compare the database with a backup, and see `tenure verify`.",
        thread=thread, seq=seq, fault=fault,
    )  # fmt: skip


def stale(thread: int, expected: int, actual: int | None = None) -> JournalConflict:
    """The error for an append that comes too late."""
    known = {"actual": actual} if actual is not None else {}
    return JournalConflict(
        f"The thread is not at revision {expected} any more.", "Read it again and decide anew.",
        thread=thread, expected=expected, **known,
    )  # fmt: skip
