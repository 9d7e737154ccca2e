"""Reports what handlers did: everything that gathered while the last report was under way goes in the next one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tenure.engine.acting import Outcome
from tenure.engine.tracing import span
from tenure.model.errors import (
    Forbidden,
    LeaseExpired,
    NotFound,
    QueueUnknown,
    StaleLease,
    SubjectBusy,
    TenureError,
)  # fmt: skip
from tenure.model.requests import (
    CompleteExecution,
    DeferExecution,
    DispatchExternal,
    FailExecution,
    ReleaseLease,
)  # fmt: skip
from tenure.sdk.worker.holding import Held, Holding
from tenure.sdk.worker.transport import Report, Transport, as_request
from tenure.store.records import Finish

_log = logging.getLogger("tenure.worker")
_GATHER = 0.001
_MOST = 1000
#: How long a report is put aside whose subject somebody's transaction holds (seconds).
_ASIDE = 0.2


@dataclass(slots=True)
class Tally:
    """What was reported so far."""

    completed: int = 0
    failed: int = 0
    deferred: int = 0
    released: int = 0
    dispatched: int = 0
    refused: int = 0


class Acknowledger:
    """One report after the other, each a batch; a report that could not be sent is sent again: its lease is its key."""

    def __init__(self, transport: Transport, worker: int, holding: Holding, came_back: Callable[[], None]) -> None:
        self._transport = transport
        self._came_back = came_back
        self._worker = worker
        self._holding = holding
        self._waiting: list[tuple[Held, Report]] = []
        self._aside = 0
        """How many reports are put aside for a moment."""
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self.tally = Tally()

    def report(self, held: Held, report: Report) -> None:
        """Queue a report; the lease counts as held until it is sent."""
        held.reported = True
        if not self._waiting:
            self._idle.clear()
            self._wake.set()
        self._waiting.append((held, report))

    def note_done(self, held: Held) -> None:
        """Count what completed itself, in a transaction of its own."""
        held.reported = True
        self.tally.completed += 1
        self._holding.drop(held)
        self._came_back()

    async def run(self) -> None:
        """Send reports until canceled."""
        while True:
            await self._wake.wait()
            if len(self._waiting) < len(self._holding):
                # Others are at work: their reports may share this commit.
                await asyncio.sleep(_GATHER)
            self._wake.clear()
            while self._waiting:
                batch, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
                await self._send(batch)
            if not self._aside:
                self._idle.set()

    async def settled(self) -> None:
        """Wait until everything queued so far was sent."""
        await self._idle.wait()

    async def _send(self, batch: Sequence[tuple[Held, Report]]) -> None:
        if links := [held.span for held, _ in batch if held.span is not None]:
            with span("tenure.report", {"tenure.batch": len(batch)}, links=links):
                outcomes = await self._transport.report(batch)
        else:
            outcomes = await self._transport.report(batch)
        done, came_back = [], False
        for (held, report), outcome in zip(batch, outcomes, strict=True):
            if outcome is not None and self._kept_back(held, report, outcome):
                continue
            done.append(held)
            match report:
                case Finish():
                    self.tally.completed += 1
                case CompleteExecution():
                    self.tally.completed += 1
                    came_back = True
                case FailExecution():
                    self.tally.failed += 1
                    came_back = True
                case DeferExecution():
                    self.tally.deferred += 1
                    came_back = True
                case ReleaseLease():
                    self.tally.released += 1
                case DispatchExternal():
                    self.tally.dispatched += 1
        self._holding.drop(*done)
        if came_back:
            # It may be due again, here, sooner than the dispatcher would look.
            self._came_back()

    def _kept_back(self, held: Held, report: Report, outcome: Outcome) -> bool:
        """See to a report that could not be written as it is; False where it was written."""
        if isinstance(outcome, SubjectBusy):
            self._put_aside(held, report)
            return True
        if isinstance(outcome, TenureError):
            self._refused(held, report, outcome)
            return True
        return False

    def _put_aside(self, held: Held, report: Report) -> None:
        """Send it again in a moment, by itself: the next batch shall not have to wait for it."""
        self._aside += 1
        alone = as_request(self._worker, report) if isinstance(report, Finish) else report

        def again() -> None:
            self._aside -= 1
            self.report(held, alone)

        asyncio.get_running_loop().call_later(_ASIDE, again)

    def _refused(self, held: Held, report: Report, error: TenureError) -> None:
        if _can_still_fail(report, error):
            # The lease is good, what the handler asked for is not: a queue that does not exist, for instance.
            self._waiting.append((held, self._failure(report, error)))
            return
        self.tally.refused += 1
        _log.warning("%s: the report was refused (%s).", held.job.lease, error.code)
        held.job.told_lost = True
        self._holding.drop(held)

    def _failure(self, report: Report, error: TenureError) -> FailExecution:
        return FailExecution(
            lease=report.lease, worker=self._worker, token_hash=report.token_hash, error_code=error.code,
            error_message=f"The handler's outcome was refused: {error}", retry_after_seconds=None,
        )  # fmt: skip


def _can_still_fail(report: Report, error: TenureError) -> bool:
    if isinstance(report, FailExecution | ReleaseLease):
        return False
    return isinstance(error, QueueUnknown) or not isinstance(error, LeaseExpired | StaleLease | Forbidden | NotFound)
