"""How a worker reaches where its work is kept: one port, so that everything else of a worker is the same code."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from tenure.engine.acting import Outcome
from tenure.flow.model.builder import Workflow
from tenure.model.queue import QueuePolicy
from tenure.model.requests import (
    ClaimItems,
    CompleteExecution,
    DeferExecution,
    DispatchExternal,
    FailExecution,
    ReleaseLease,
)  # fmt: skip
from tenure.model.worker import Worker, WorkerSpec
from tenure.sdk.steps import Steps
from tenure.sdk.token import Token
from tenure.sdk.worker.holding import Held
from tenure.store.records import Claimed, Finish, ScanHint

if TYPE_CHECKING:
    from tenure.sdk.worker.transacting import Transacting

T = TypeVar("T")

Report = Finish | CompleteExecution | FailExecution | DeferExecution | ReleaseLease | DispatchExternal
"""What became of one lease."""


@dataclass(frozen=True, slots=True)
class Served:
    """A queue to claim from."""

    queue_key: str
    dispatch_priority: int


class Taken(NamedTuple):
    """What a claim brought. Each lease holds at least its ttl from ``asked_at`` on (monotonic, of this process)."""

    items: Sequence[Claimed]
    asked_at: float


class Renewed(NamedTuple):
    """Leases that are still held, and those that nothing is known of: somebody's transaction has their subject locked."""

    held: Collection[int]
    busy: Collection[int]


class Hints:
    """Word that there may be work. One that is lost costs a poll's delay, never correctness (S4 section 5.1)."""

    def __init__(self) -> None:
        self.heard = asyncio.Event()
        self.listening = False
        self.count = 0
        self.served: set[str] = set()
        """The queues whose hints count."""


class Receiver(Protocol):
    """Where a worker takes what it was given without having asked just then."""

    look_seconds: float
    """How long the last look took that found nothing."""

    @property
    def before_oldest(self) -> int:
        """A uid before every lease that the worker holds."""
        ...

    def given(self, item: Claimed, token: Token, asked_at: float) -> None:
        """Begin with it. Its lease holds at least its ttl from ``asked_at`` on (monotonic)."""
        ...


class Transport(Protocol):
    """What a worker asks of the other side.

    ``claim``, ``beat``, ``renew`` and ``sweep`` ask once and raise StoreUnavailable where no answer came; the others ask
    again until there is one. Errors that the other side raises on purpose come through as they are.
    """

    hints: Hints
    receiver: Receiver | None
    """Takes what the other side gives without being asked; nobody at first."""
    scans: bool
    """Whether a claim heeds where to start to scan."""
    wait: float
    """Seconds for which the other side waits for work when it is asked to ``seek``; 0 where it does not."""
    refresh: float
    """Seconds for which a look at the queues is good."""

    @property
    def transacting(self) -> Transacting | None:
        """Runs tasks that take a connection; None where there is none to be had."""
        ...

    @property
    def steps(self) -> Steps:
        """Where the code of jobs keeps what it did."""
        ...

    async def enroll(self, spec: WorkerSpec, policies: Sequence[QueuePolicy], workflows: Sequence[Workflow]) -> Worker:
        """Define the workflows, and the queues that nobody has defined, as far as this worker may; then register it.

        Where a definition is refused, there is no worker, and who works under its key is left alone.
        """
        ...

    async def queues(self, wanted: Collection[str]) -> Sequence[Served]:
        """Those of the queues wanted that can be claimed from, as far as this side knows."""
        ...

    async def claim(self, request: ClaimItems, token: Token, hint: ScanHint | None) -> Taken:
        """Take subjects under lease."""
        ...

    async def seek(self, requests: Sequence[ClaimItems], token: Token, wait: float) -> Taken:
        """Take subjects of the first of these queues that has any; wait until one has."""
        ...

    async def orphans(self, token: Token) -> Taken:
        """What the last claim, which had this token, took and whose answer was lost; asked for until it is known."""
        ...

    async def due_in(self, queue_keys: Sequence[str]) -> float | None:
        """In how many seconds something falls due; None where nothing will."""
        ...

    async def report(self, batch: Sequence[tuple[Held, Report]]) -> Sequence[Outcome | None]:
        """Report what became of leases; an outcome for each, in order, or None for what was done as it was asked."""
        ...

    async def renew(self, held: Sequence[Held], ttl_seconds: int | None) -> Renewed:
        """Hold on to leases; a lease that is not in the answer is lost."""
        ...

    async def beat(self) -> Worker:
        """Say that the worker is alive; the worker as it stands."""
        ...

    async def sweep(self) -> int:
        """Expire what others let lapse; how many there were."""
        ...

    async def tick(self) -> int:
        """Let runs go on of which something has fallen due; how many there were."""
        ...

    async def retire(self, reason: str) -> None:
        """Mark the worker as gone."""
        ...

    async def listen(self) -> None:
        """Hear hints until canceled; returns where there are none to be had."""
        ...

    async def withdraw(self) -> None:
        """Have nothing given any more; what was until now is received. Once it listens no more."""
        ...

    async def close(self) -> None:
        """Let go of all connections."""
        ...

    @property
    def described(self) -> str:
        """How the other side is reached, in words."""
        ...


def as_request(worker: int, report: Finish) -> CompleteExecution:
    """A plain completion as the request that it stands for."""
    return CompleteExecution(
        lease=report.lease,
        worker=worker,
        token_hash=report.token_hash,
        result=report.result,
        result_ref=report.result_ref,
    )
