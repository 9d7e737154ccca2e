"""A worker that reaches its work over HTTP alone: no DSN, no driver, only a URL and a token (design 06, HTTP API)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Collection, Sequence
from typing import TypeVar

from tenure.engine.acting import Outcome
from tenure.flow.model.builder import Workflow
from tenure.model import euid
from tenure.model.errors import Conflict, Forbidden, QueueUnknown, StoreUnavailable, SubjectBusy, TenureError
from tenure.model.queue import QueuePolicy
from tenure.model.requests import ClaimItems
from tenure.model.worker import Worker, WorkerSpec
from tenure.sdk.http import work
from tenure.sdk.http.address import Address
from tenure.sdk.http.async_line import AsyncLine
from tenure.sdk.http.call import Call
from tenure.sdk.http.problem import ServerFailed, TurnedAway, barred
from tenure.sdk.http.steps import HttpSteps
from tenure.sdk.steps import Steps
from tenure.sdk.token import Token
from tenure.sdk.worker.holding import Held
from tenure.sdk.worker.transport import Hints, Receiver, Renewed, Report, Served, Taken
from tenure.store.records import Claimed, ScanHint

T = TypeVar("T")
_log = logging.getLogger("tenure.worker")
_MOST = 200
"""Actions in one request: their results may be large."""
_RETRIES = 3
_FIRST_DELAY, _LAST_DELAY = 0.2, 5.0


class HttpTransport:
    """``Transport`` over HTTP. Every claim has a key, every report its lease: what is sent again is not done again."""

    scans = False
    wait = 20.0
    refresh = 60.0

    def __init__(self, address: Address) -> None:
        self._address = address
        self._line = AsyncLine(address)
        self.hints = Hints()
        self.receiver: Receiver | None = None
        self._unanswered: Sequence[ClaimItems] = ()

    async def enroll(self, spec: WorkerSpec, policies: Sequence[QueuePolicy], workflows: Sequence[Workflow]) -> Worker:
        """See ``Transport.enroll``. To define is an admin's, not a worker's: claims tell of the queues that are missing."""
        self._worker = await self._send(work.register(spec))
        return self._worker

    async def _send(self, call: Call[T]) -> T:
        try:
            return await self._line.attempt(call)
        except TenureError as error:
            if barred(error):
                raise TurnedAway(
                    f"The server turns this worker away: {error.message}", error.hint, by=error.code
                ) from error
            raise

    async def queues(self, wanted: Collection[str]) -> Sequence[Served]:
        """See ``Transport.queues``: all of them. The server knows which are there, and which is the most urgent."""
        return [Served(queue_key, 0) for queue_key in wanted]

    async def claim(self, request: ClaimItems, token: Token, hint: ScanHint | None) -> Taken:
        """See ``Transport.claim``."""
        return await self.seek([request], token, 0.0)

    async def seek(self, requests: Sequence[ClaimItems], token: Token, wait: float) -> Taken:
        """See ``Transport.seek``."""
        keyed = [request.model_copy(update={"idempotency_key": secrets.token_urlsafe(16)}) for request in requests]
        self._unanswered = keyed
        taken = await self._ask(work.claim(keyed, token, wait))
        self._unanswered = ()
        return taken

    async def _ask(self, call: Call[tuple[list[Claimed], float]]) -> Taken:
        sent_at = time.monotonic()
        items, after = await self._send(call)
        # The server took it ``after`` seconds after the request came, so later than that after it was sent.
        return Taken(items, min(sent_at + after, time.monotonic()))

    async def orphans(self, token: Token) -> Taken:
        """See ``Transport.orphans``: a claim sent again under its key is answered with what the first one took."""
        items: list[Claimed] = []
        asked_at = time.monotonic()
        for request in self._unanswered:
            delay = _FIRST_DELAY
            while True:
                try:
                    taken = await self._ask(work.claim([request], token, 0.0))
                except (QueueUnknown, Conflict, Forbidden):
                    break  # it may not claim there, or no longer: it holds nothing of it
                except StoreUnavailable as error:
                    _log.warning("claiming: %s Trying again in %.1f s.", error.message, delay)
                    await asyncio.sleep(delay)
                    delay = min(delay * 2, _LAST_DELAY)
                else:
                    items += taken.items
                    asked_at = min(asked_at, taken.asked_at)
                    break
        self._unanswered = ()
        return Taken(items, asked_at)

    async def due_in(self, queue_keys: Sequence[str]) -> float | None:
        """See ``Transport.due_in``: the server knows, and answers the claim that waits."""
        return None

    async def report(self, batch: Sequence[tuple[Held, Report]]) -> Sequence[Outcome]:
        """See ``Transport.report``."""
        outcomes: list[Outcome] = []
        for first in range(0, len(batch), _MOST):
            outcomes += await self._report(batch[first : first + _MOST])
        return outcomes

    async def _report(self, batch: Sequence[tuple[Held, Report]], tries: int = 1) -> list[Outcome]:
        try:
            return await self._answered(work.report(self._worker, batch), "reporting")
        except TurnedAway:
            raise
        except TenureError as error:
            # One of them makes the whole request fail, or they are too large together.
            if len(batch) > 1:
                half = len(batch) // 2
                return [*await self._report(batch[:half]), *await self._report(batch[half:])]
            if isinstance(error, ServerFailed) and tries < _RETRIES:
                await asyncio.sleep(_FIRST_DELAY * 2**tries)
                return await self._report(batch, tries + 1)
            return [error]

    async def renew(self, held: Sequence[Held], ttl_seconds: int | None) -> Renewed:
        """See ``Transport.renew``."""
        renewed: set[int] = set()
        busy: set[int] = set()
        for first in range(0, len(held), _MOST):
            some = held[first : first + _MOST]
            outcomes = await self._send(work.renew(self._worker, some, ttl_seconds))
            for each, outcome in zip(some, outcomes, strict=True):
                if not isinstance(outcome, TenureError):
                    renewed.add(each.item.lease)
                elif isinstance(outcome, SubjectBusy):
                    busy.add(each.item.lease)
        return Renewed(renewed, busy)

    async def beat(self) -> Worker:
        """See ``Transport.beat``."""
        return await self._send(work.heartbeat(self._worker))

    async def sweep(self) -> int:
        """Nothing: the server sees to what lapses."""
        return 0

    @property
    def transacting(self) -> None:
        """There is no transaction to take part in."""
        return None

    @property
    def steps(self) -> Steps:
        """See ``Transport.steps``."""
        return HttpSteps(self._answered)

    async def _answered(self, call: Call[T], doing: str = "keeping steps") -> T:
        """Ask again until there is an answer; ``doing`` is for the log."""
        delay = _FIRST_DELAY
        while True:
            try:
                return await self._send(call)
            except ServerFailed:
                raise
            except StoreUnavailable as error:
                _log.warning("%s: %s Trying again in %.1f s.", doing, error.message, delay)
                await asyncio.sleep(delay)
                delay = min(delay * 2, _LAST_DELAY)

    async def tick(self) -> int:
        """Nothing: the server sees to what falls due."""
        return 0

    async def retire(self, reason: str) -> None:
        """See ``Transport.retire``."""
        await self._send(work.retire(self._worker, reason))

    async def listen(self) -> None:
        """Returns at once: a claim that waits is the hint."""
        return

    async def withdraw(self) -> None:
        """See ``Transport.withdraw``; the server gives nothing that was not asked for."""

    async def close(self) -> None:
        """See ``Transport.close``."""
        with contextlib.suppress(Exception):
            await self._line.close()

    @property
    def described(self) -> str:
        """See ``Transport.described``."""
        return f"to {self._address.url} as {euid.format_euid(euid.WORKER, self._worker.uid)}"
