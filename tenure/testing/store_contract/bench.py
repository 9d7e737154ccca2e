"""One surface over every store: a tenant, a clock that tests move, and the client's operations by their own names.

``bench.submit(...)``, ``bench.claim(...)`` and so on are the functions of ``tenure.sdk.operations`` with the caller
filled in and driven to their result; whatever they raise, a test sees.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from tenure.engine.acting import Outcome
from tenure.engine.actions import claim as claim_action
from tenure.engine.caller import Caller
from tenure.model.errors import TenureError
from tenure.model.requests import ClaimItems, validated
from tenure.model.states import WorkerType
from tenure.model.worker import Worker
from tenure.sdk import operations
from tenure.sdk.token import Token
from tenure.store.memory import MemoryStore, StandingClock
from tenure.store.operation import Op, run_pure
from tenure.store.port import Store

T = TypeVar("T")

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


class Bench:
    """A store under test as one tenant sees it."""

    def __init__(
        self, name: str, store: Store, drive: Callable[[Callable[[], Op[Any]]], Any], set_clock: Callable[[datetime], Any],
        tenant_key: str = "lab", now: datetime = NOON,
        beside: Callable[[Bench], AbstractContextManager[Bench]] = nullcontext,
    ) -> None:  # fmt: skip
        self.name = name
        self.store = store
        self._drive = drive
        self._set_clock = set_clock
        self._beside = beside
        self.at(now)
        tenant = self.run(store.tenant(tenant_key, create=True, actor="user:ada"))
        assert tenant is not None
        self.caller = Caller(store, tenant, "user:ada", tenant_key)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = getattr(operations, name, None)
        if operation is None:
            raise AttributeError(name)
        return functools.partial(self.perform, operation)

    def perform(self, operation: Callable[..., Op[T]], /, *args: Any, **kwargs: Any) -> T:
        """Drive ``operation(caller, ...)`` to its result."""
        result: T = self._drive(lambda: operation(self.caller, *args, **kwargs))
        return result

    def run(self, op: Op[T]) -> T:
        """Drive one operation of the store itself."""
        result: T = self._drive(lambda: op)
        return result

    @property
    def tenant(self) -> int:
        return self.caller.tenant

    def at(self, moment: datetime) -> None:
        """Set the store's clock."""
        self.now = moment
        self._set_clock(moment)

    def later(self, seconds: float) -> datetime:
        """Move the store's clock on; the new time."""
        self.at(self.now + timedelta(seconds=seconds))
        return self.now

    def in_seconds(self, seconds: float) -> datetime:
        """A time that lies so far ahead."""
        return self.now + timedelta(seconds=seconds)

    def other_tenant(self, key: str) -> Bench:
        """The same store as another tenant sees it."""
        return Bench(self.name, self.store, self._drive, self._set_clock, key, self.now, self._beside)

    def beside(self) -> AbstractContextManager[Bench]:
        """The same tenant for another thread: over a connection of its own where the store has connections."""
        return self._beside(self)

    # What tests say often -----------------------------------------------------------------------------------------
    def worker(self, key: str = "w", **spec: Any) -> Worker:
        """A worker whose limits are out of the way of the test, unless it names them."""
        wide = {"max_concurrent_leases": 1000, "heartbeat_ttl_seconds": 86400}
        registered: Worker = self.register_worker(key, **(wide | spec))
        return registered

    def person(self, key: str = "human", **spec: Any) -> Worker:
        """A human session."""
        return self.worker(key, worker_type=WorkerType.HUMAN_SESSION, **spec)

    def subject(self, queue_key: str | None = "q", **request: Any) -> int:
        """The uid of a subject that was just submitted."""
        uid: int = self.submit(queue_key=queue_key, **request).subject
        return uid

    def take(self, worker: Worker, queue_key: str = "q", **request: Any) -> operations.Lease:
        """The one lease that a claim brings."""
        lease: operations.Lease
        (lease,) = self.claim(worker, queue_key, **request)
        return lease

    def run_it(self, worker: Worker, queue_key: str = "q", **request: Any) -> operations.Lease:
        """One lease, already started."""
        return self.take(worker, queue_key, start=True, **request)

    def claim_outcome(self, worker: Worker, queue_key: str = "q", **request: Any) -> claim_action.Claim:
        """A claim as the engine answers it, with whether it was answered from before."""
        values = {"incarnation": worker.incarnation, "token_hash": Token("bench").digest} | request
        asked = validated(ClaimItems, worker=worker.uid, queue_key=queue_key, **values)
        return self.perform(claim_action.claim, asked)

    def many(self, act_many: Callable[..., Op[list[Outcome]]], requests: Sequence[Any]) -> list[Outcome]:
        """The set form of an action."""
        return self.perform(act_many, requests)

    def envelope(self, subject: int) -> Any:
        """The envelope as it stands."""
        return self.inspect(subject).situation.thread.envelope

    def thread(self, subject: int) -> Any:
        """The whole thread as its rows have it."""
        return self.history(subject).thread

    def last_attempt(self, subject: int) -> Any:
        """The newest attempt at a subject."""
        return max(self.thread(subject).attempts.values(), key=lambda attempt: attempt.uid)

    def state(self, subject: int) -> str:
        """The authoritative state."""
        return str(self.envelope(subject).state)

    def codes(self, subject: int) -> list[str]:
        """The codes of every reason, sorted."""
        return sorted(reason.code for reason in self.why(subject))

    def visible(self, queue_key: str = "q") -> list[int]:
        """The uids in a queue, in execution order."""
        return [item.envelope.uid for item in self.queue_items(queue_key, limit=10_000)]

    def depth(self, queue_key: str = "q") -> int:
        """``queue_depth`` of the metrics."""
        depth: int = self.counts(queue_key).queue_depth
        return depth

    def counts(self, queue_key: str = "q", **options: Any) -> Any:
        """The 16 metrics of one queue."""
        (counted,) = self.metrics([queue_key], **options)
        return counted

    def types(self, thread: int) -> list[str]:
        """The types of the facts of a thread, in order."""
        return [fact.type for fact in self.facts(thread)]

    def refusals(self, subject: int) -> list[str]:
        """The codes of what was refused on a subject."""
        return [row.refused.code for row in self.history(subject).refusals]

    def error(self, operation: Callable[..., Any], /, *args: Any, **kwargs: Any) -> TenureError:
        """What ``operation`` is refused with; a failure where it is not."""
        try:
            answer = operation(*args, **kwargs)
        except TenureError as refused:
            return refused
        raise AssertionError(f"it was not refused, but answered {answer!r}")


def memory_bench(tenant_key: str = "lab") -> Bench:
    """A bench over a memory store of its own."""
    clock = StandingClock(NOON)
    return Bench(
        "memory",
        MemoryStore(clock),
        lambda make: run_pure(make()),
        functools.partial(setattr, clock, "now"),
        tenant_key,
    )
