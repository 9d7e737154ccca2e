"""Writes reports to the database: the plain ones in one statement, the others in one transaction for each kind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

import psycopg

from tenure.engine.acting import Outcome, act
from tenure.engine.actions import complete, defer, dispatch, fail, release
from tenure.engine.caller import Caller
from tenure.engine.logging import where
from tenure.model.errors import LawViolation, StoreUnavailable, SubjectBusy, TenureError
from tenure.model.queue import STEP_TEMPLATE
from tenure.model.requests import (
    CompleteExecution,
    DeferExecution,
    DispatchExternal,
    FailExecution,
    LeaseRequest,
    ReleaseLease,
)  # fmt: skip
from tenure.model.result import ActionResult
from tenure.sdk.worker.holding import Held
from tenure.sdk.worker.link import Link
from tenure.sdk.worker.transport import Report, as_request
from tenure.store.operation import Op
from tenure.store.records import Finish

_log = logging.getLogger("tenure.worker")
#: Steps of so many runs are finished in one go: enough that starting a statement does not count.
_RUNS = 100
#: So many reports or more are written by two connections at once, for the same reason.
MANY = 500
T = TypeVar("T")
_Finishing = Callable[[Caller, int, Sequence[Finish]], Op[Mapping[int, ActionResult]]]


class Reporting:
    """A report that could not be sent is sent again: its lease is its key."""

    def __init__(
        self, link: Link, beside: Link, caller: Caller, worker: int, came_back: Callable[[], None],
        claiming: Callable[[], bool],
    ) -> None:  # fmt: skip
        """``beside`` is a second connection, for what needs one to be decided while another one writes, and for half of what
        is much.

        ``came_back`` is called where something may be claimable now that was not before. ``claiming`` tells whether a claim
        is under way.
        """
        self._claiming = claiming
        self._came_back = came_back
        self._link = link
        self._lanes = (link, beside)
        self._caller = caller
        self._worker = worker

    async def send(self, batch: Sequence[tuple[Held, Report]]) -> list[Outcome | None]:
        """An outcome for each report, in order; None for what was done as it was asked, SubjectBusy for what has to be sent
        again since somebody's transaction holds its subject.
        """
        reports = [report for _, report in batch]
        outcomes: list[Outcome | None] = [None] * len(reports)
        # What a template is made for says which way is likely; what one way leaves is tried the other way.
        likely = [report for held, report in batch if type(report) is Finish and held.item.template != STEP_TEMPLATE]
        plainly = await self._plainly(likely)
        if len(plainly) == len(reports):
            return outcomes
        steps = portions([(h, r) for h, r in batch if type(r) is Finish and r.lease not in plainly])
        followed = await self._in_lanes(complete.finish_followed, steps, self._came_back)
        rest = [
            (index, as_request(self._worker, report) if isinstance(report, Finish) else report)
            for index, report in enumerate(reports)
            if not (isinstance(report, Finish) and (report.lease in plainly or report.lease in followed))
        ]
        for kind in (CompleteExecution, FailExecution, DeferExecution, ReleaseLease, DispatchExternal):
            chosen = [(index, request) for index, request in rest if type(request) is kind]
            if chosen:
                answers = await self._outcomes([request for _, request in chosen])
                for (index, _), answer in zip(chosen, answers, strict=True):
                    outcomes[index] = answer
        if rest:
            self._came_back()
        return outcomes

    async def _plainly(self, finishes: Sequence[Finish]) -> Collection[int]:
        """Which leases were completed in the plain way. What is much is split where the database has nothing else to do
        for this worker, as at the end of a drain.
        """
        if len(finishes) < MANY or self._claiming():
            return await self._finish(complete.finish_many, finishes)
        half = len(finishes) // 2
        return await self._in_lanes(complete.finish_many, [finishes[:half], finishes[half:]])

    async def _in_lanes(
        self, how: _Finishing, waiting: list[Sequence[Finish]], then: Callable[[], None] = lambda: None
    ) -> set[int]:
        """Finish them portion by portion over both connections: one is decided on while the database writes another. Which
        leases were finished; ``then`` is called after each portion of which any was.
        """
        done: set[int] = set()

        async def lane(link: Link) -> None:
            while waiting:
                finished = await self._finish(how, waiting.pop(0), link)
                done.update(finished)
                if finished:
                    then()

        await asyncio.gather(*(lane(link) for link in self._lanes[: len(waiting)]))
        return done

    async def _finish(
        self, how: _Finishing, finishes: Sequence[Finish], link: Link | None = None
    ) -> Mapping[int, ActionResult]:  # fmt: skip
        if not finishes:
            return {}
        try:
            return await self._written(link or self._link, lambda: how(self._caller, self._worker, finishes))
        except SubjectBusy:
            return {}  # one by one, those that can be reported are; what is in their way is put aside
        except (TenureError, psycopg.Error) as error:
            _log.warning("%d reports were refused as one and are sent one by one: %s", len(finishes), where(error))
            return {}

    async def _written(self, link: Link, make: Callable[[], Op[T]]) -> T:
        """By this connection; where the one beside cannot be had, by the first, which is waited for."""
        if link is not self._link:
            try:
                return await link.attempt(make)
            except StoreUnavailable as error:
                _log.warning("reporting beside: %s One connection writes them all.", error.message)
        return await self._link.perform(make)

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
        return act(self._caller, spec, requests, waits=False)  # type: ignore[arg-type]


def portions(finishes: Sequence[tuple[Held, Finish]]) -> list[Sequence[Finish]]:
    """Steps of up to so many runs each; those of one run together, since they would have to wait for each other.

    Who is asked does not know which run a lease belongs to, but all subjects of a run share its correlation id.
    """
    runs: dict[str | None, list[Finish]] = {}
    for held, finish in finishes:
        runs.setdefault(held.item.correlation_id, []).append(finish)
    whole = list(runs.values())
    return [[finish for run in whole[first : first + _RUNS] for finish in run] for first in range(0, len(whole), _RUNS)]
