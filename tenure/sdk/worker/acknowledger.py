"""Reports what handlers did: everything that gathered while the last report was under way goes in the next one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psycopg

from tenure.engine.acting import Outcome, act
from tenure.engine.actions import complete, defer, dispatch, fail, release
from tenure.engine.caller import Caller
from tenure.model.errors import (
    Forbidden,
    LawViolation,
    LeaseExpired,
    NotFound,
    QueueUnknown,
    StaleLease,
    TenureError,
)
from tenure.model.requests import (
    CompleteExecution,
    DeferExecution,
    DispatchExternal,
    FailExecution,
    LeaseRequest,
    ReleaseLease,
)  # fmt: skip
from tenure.sdk.worker.holding import Held, Holding
from tenure.sdk.worker.link import Link
from tenure.store.operation import Op
from tenure.store.records import Finish

_log = logging.getLogger("tenure.worker")
_GATHER = 0.001
_MOST = 1000

Report = Finish | CompleteExecution | FailExecution | DeferExecution | ReleaseLease | DispatchExternal


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

    def __init__(
        self, link: Link, caller: Caller, worker: int, holding: Holding, came_back: Callable[[], None]
    ) -> None:
        self._link = link
        self._came_back = came_back
        self._caller = caller
        self._worker = worker
        self._holding = holding
        self._waiting: list[tuple[Held, Report]] = []
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self.tally = Tally()

    def report(self, held: Held, report: Report) -> None:
        """Queue a report; the lease counts as held until it is sent."""
        held.reported = True
        self._waiting.append((held, report))
        self._idle.clear()
        self._wake.set()

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
            self._idle.set()

    async def settled(self) -> None:
        """Wait until everything queued so far was sent."""
        await self._idle.wait()

    async def _send(self, batch: Sequence[tuple[Held, Report]]) -> None:
        plain = [(held, report) for held, report in batch if isinstance(report, Finish)]
        rest: list[tuple[Held, LeaseRequest]] = [
            (held, report) for held, report in batch if not isinstance(report, Finish)
        ]
        if plain:
            finishes = [report for _, report in plain]
            try:
                done = await self._link.perform(lambda: complete.finish_many(self._caller, self._worker, finishes))
            except (TenureError, psycopg.Error) as error:
                _log.warning("%d reports were refused as one and are sent one by one: %s", len(plain), error)
                done = {}
            self.tally.completed += len(done)
            for held, report in plain:
                if report.lease in done:
                    self._holding.drop(held)
                else:
                    rest.append((held, _as_request(self._worker, report)))
        for kind in (CompleteExecution, FailExecution, DeferExecution, ReleaseLease, DispatchExternal):
            chosen = [(held, report) for held, report in rest if type(report) is kind]
            if chosen:
                self._note(chosen, await self._outcomes([request for _, request in chosen]))

    async def _outcomes(self, requests: Sequence[LeaseRequest]) -> list[Outcome]:
        """What became of each. One that the database refuses does not keep the others from being reported."""
        try:
            return await self._link.perform(lambda: self._op(requests))
        except (TenureError, psycopg.Error) as error:
            if len(requests) == 1:
                refused = error if isinstance(error, TenureError) else LawViolation(f"The database refused it: {error}")
                return [refused]
            half = len(requests) // 2
            return [*await self._outcomes(requests[:half]), *await self._outcomes(requests[half:])]

    def _op(self, requests: Sequence[LeaseRequest]) -> Op[list[Outcome]]:
        spec = {
            CompleteExecution: complete.SPEC, FailExecution: fail.SPEC, DeferExecution: defer.SPEC,
            ReleaseLease: release.SPEC, DispatchExternal: dispatch.SPEC,
        }[type(requests[0])]  # fmt: skip
        return act(self._caller, spec, requests)  # type: ignore[arg-type]

    def _note(self, chosen: Sequence[tuple[Held, LeaseRequest]], outcomes: Sequence[Outcome]) -> None:
        for (held, request), outcome in zip(chosen, outcomes, strict=True):
            if isinstance(outcome, TenureError) and _can_still_fail(request, outcome):
                # The lease is good, what the handler asked for is not: a queue that does not exist, for instance.
                self._waiting.append((held, _failure(request, outcome)))
                continue
            if isinstance(outcome, TenureError):
                self.tally.refused += 1
                _log.warning("%s: the report was refused: %s", held.job.lease, outcome)
                held.job.told_lost = True
                self._holding.drop(held)
                continue
            match request:
                case CompleteExecution():
                    self.tally.completed += 1
                case FailExecution():
                    self.tally.failed += 1
                case DeferExecution():
                    self.tally.deferred += 1
                case ReleaseLease():
                    self.tally.released += 1
                case DispatchExternal():
                    self.tally.dispatched += 1
            self._holding.drop(held)
        if any(isinstance(request, CompleteExecution | FailExecution | DeferExecution) for _, request in chosen):
            # It may be due again, here, sooner than the dispatcher would look.
            self._came_back()


def _as_request(worker: int, report: Finish) -> CompleteExecution:
    return CompleteExecution(
        lease=report.lease,
        worker=worker,
        token_hash=report.token_hash,
        result=report.result,
        result_ref=report.result_ref,
    )


def _can_still_fail(request: LeaseRequest, error: TenureError) -> bool:
    if isinstance(request, FailExecution | ReleaseLease):
        return False
    return isinstance(error, QueueUnknown) or not isinstance(error, LeaseExpired | StaleLease | Forbidden | NotFound)


def _failure(request: LeaseRequest, error: TenureError) -> FailExecution:
    return FailExecution(
        lease=request.lease, worker=request.worker, token_hash=request.token_hash, error_code=error.code,
        error_message=f"The handler's outcome was refused: {error}", retry_after_seconds=None,
    )  # fmt: skip
