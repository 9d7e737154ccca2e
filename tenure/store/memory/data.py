"""What the memory store keeps: dicts and lists that know how to undo what was written since a mark."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from tenure.model.attempt import Attempt
from tenure.model.fact import Fact
from tenure.model.principal import AccessToken, Principal
from tenure.model.queue import Queue
from tenure.model.thread import SubjectThread
from tenure.model.worker import Worker
from tenure.store.records import InboxRow, QueueSample, RefusalRow, Subject, Template

K = TypeVar("K")
V = TypeVar("V")
Undo = list[Callable[[], object]]


class Table(dict[K, V]):
    """A dict that is written by ``put`` only, so that it can be undone."""

    def __init__(self, undo: Undo) -> None:
        super().__init__()
        self._undo = undo

    def put(self, key: K, value: V) -> None:
        """Insert or replace."""
        if key in self:
            former = self[key]
            self._undo.append(lambda: self.__setitem__(key, former))
        else:
            self._undo.append(lambda: self.__delitem__(key))
        self[key] = value


class Log(list[V]):
    """A list that only grows, by ``add``, so that it can be undone."""

    def __init__(self, undo: Undo) -> None:
        super().__init__()
        self._undo = undo

    def add(self, value: V) -> None:
        """Append."""
        self._undo.append(self.pop)
        self.append(value)


class Data:
    """All rows, the lock that threads share them under, the clock, and the two sequences.

    Values are immutable, so undoing means putting the former value back. Sequences are never undone, as in PostgreSQL.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.uids: Iterator[int] = itertools.count(1024, 2)
        self._positions = itertools.count(1)
        self._lock = threading.RLock()
        self._depth = 0
        self._undo: Undo = []
        self.tenants: Table[str, int] = Table(self._undo)
        self.templates: Table[tuple[int, str], Template] = Table(self._undo)
        self.queues: Table[int, Queue] = Table(self._undo)
        self.workers: Table[int, Worker] = Table(self._undo)
        self.principals: Table[int, Principal] = Table(self._undo)
        self.password_hashes: Table[int, str] = Table(self._undo)
        self.access_tokens: Table[int, AccessToken] = Table(self._undo)
        self.digests: Table[bytes, int] = Table(self._undo)
        self.heads: Table[int, tuple[int, bytes]] = Table(self._undo)
        self.subjects: Table[int, Subject] = Table(self._undo)
        self.submit_keys: Table[tuple[int, str], int] = Table(self._undo)
        self.external_refs: Table[tuple[int, str], int] = Table(self._undo)
        self.threads: Table[int, SubjectThread] = Table(self._undo)
        self.subject_of_attempt: Table[int, int] = Table(self._undo)
        self.details: Table[int, Mapping[str, Any]] = Table(self._undo)
        self.links: Table[tuple[int, int, str], int] = Table(self._undo)
        self.facts: Table[int, Log[Fact]] = Table(self._undo)
        self.samples: Table[int, tuple[QueueSample, ...]] = Table(self._undo)
        self.inbox: Table[tuple[int, str, str], InboxRow] = Table(self._undo)
        self.refusals: Log[tuple[int, RefusalRow]] = Log(self._undo)

    @property
    def undo(self) -> Undo:
        """What puts back what was written since the outermost operation began; for tables that others add."""
        return self._undo

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """All that is written within, or nothing; within another one: a savepoint."""
        with self._lock:
            mark = len(self._undo)
            self._depth += 1
            try:
                yield
            except BaseException:
                while len(self._undo) > mark:
                    self._undo.pop()()
                raise
            finally:
                self._depth -= 1
                if not self._depth:
                    self._undo.clear()

    def tell(self, fact: Fact) -> Fact:
        """Append a fact to its thread, at the next position."""
        kept = replace(fact, position=next(self._positions))
        if fact.thread not in self.facts:
            self.facts.put(fact.thread, Log(self._undo))
        self.facts[fact.thread].add(kept)
        return kept

    def queue_of(self, tenant: int, key: str | None) -> Queue | None:
        """The active queue of that key, else the one that was retired last."""
        found = [q for q in self.queues.values() if q.tenant == tenant and q.queue_key == key]
        active = [q for q in found if q.retired_at is None]
        return active[0] if active else max(found, key=lambda q: (q.retired_at, q.uid), default=None)

    def active_queue(self, tenant: int, key: str | None) -> Queue | None:
        """The active queue of that key."""
        queue = self.queue_of(tenant, key)
        return queue if queue is not None and queue.retired_at is None else None

    def threads_of(self, tenant: int | None) -> Iterator[SubjectThread]:
        """The threads of a tenant's subjects (of all where None), in order of uid."""
        return (t for t in self.threads.values() if tenant is None or t.envelope.tenant == tenant)

    def attempts_of(self, tenant: int) -> Iterator[Attempt]:
        """All attempts of a tenant."""
        return (attempt for thread in self.threads_of(tenant) for attempt in thread.attempts.values())

    def queue_uid(self, attempt: Attempt) -> int | None:
        """The uid of the queue that an attempt was claimed from."""
        uid: int | None = self.details[attempt.uid].get("queue")
        return uid

    def live_leases(self, worker: int) -> int:
        """How many ACTIVE leases a worker holds, lapsed ones included."""
        return sum(
            attempt.live and attempt.worker == worker
            for thread in self.threads.values()
            if thread.envelope.slots_free + thread.envelope.slots_done < thread.envelope.slots_total
            for attempt in thread.attempts.values()
        )
