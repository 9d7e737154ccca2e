"""The claim that a worker leaves with the database while it waits (docs/decisions/0023).

Whoever submits what it waits for takes it for the worker in the same transaction, and tells the worker on a channel of its
own. What is told is lost with the connection; so what was taken is looked for as well, whenever the connection is asked for a
sign of life, and when it was opened again.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import psycopg

from tenure.engine.actions.claim import told
from tenure.engine.caller import Caller
from tenure.engine.logging import wanted as logged
from tenure.engine.tracing import exporting
from tenure.model.errors import StoreUnavailable, SubjectBusy, TenureError
from tenure.model.worker import Worker
from tenure.sdk.token import Token
from tenure.sdk.worker.link import Link
from tenure.sdk.worker.transport import Receiver
from tenure.store.operation import Op, run_pure
from tenure.store.postgres.own_connection import OwnAsyncConnection
from tenure.store.postgres.runner import run_own_async
from tenure.store.postgres.standing import StandingClaim, answer
from tenure.store.postgres.store import PostgresStore
from tenure.store.records import Claimed

_log = logging.getLogger("tenure.worker")
_SLOW = 0.02
"""Seconds. Where nothing waits, and a look at the queue takes longer, it wades through what no VACUUM can take away; no
submission is to pay for that."""
_TRIES = 3
_FAR = 2000
"""How far behind a standing claim may be with the leases that are held: as many uids as a thousand leases take."""

_Read = Callable[[Callable[[], Op[Claimed | None]]], Awaitable[Claimed | None]]


class Standing:
    """One for a worker that listens."""

    def __init__(
        self, store: PostgresStore, caller: Caller, worker: Worker, queue_keys: Sequence[str], ttl_seconds: int | None,
        receiver: Callable[[], Receiver | None], reading: Link, keeping: Link,
    ) -> None:  # fmt: skip
        """What cannot be asked on the connection that listens is asked on ``reading`` while it does, on ``keeping`` afterwards."""
        self._store = store
        self._caller = caller
        self._worker = worker
        self._queue_keys = queue_keys
        self._ttl = ttl_seconds
        self._receiver = receiver
        self._reading = reading
        self._keeping = keeping
        self._round_trip = 0.0
        self._claim: StandingClaim | None = None
        self._left = False
        """Whether it is known to stand."""
        self._tokens: list[Token] = []
        """Those of all claims under which something may have been taken that nobody heard of; the last is that of the claim."""
        self._newest = 0
        """The newest lease that was handed on."""
        self._live_after = 0
        self._paused = False
        """Whether the claim is withdrawn for as long as looks take long."""
        self._anchor = (0.0, 0.0)
        """A moment of this process's monotonic clock, and one of the server's own clock that was not before it."""

    async def leave(self, connection: OwnAsyncConnection) -> None:
        """Leave a claim, answered for as long as this connection is open; what former ones were answered with is looked for.

        Where the worker's row is held by somebody's transaction there is none until the next look.
        """
        self._left = self._paused = False
        await self._read_clock(connection)
        if self._queue_keys:
            token = Token()
            self._claim = StandingClaim(
                self._worker.uid, self._worker.incarnation, self._queue_keys, token.digest, self._caller.actor, self._ttl,
                secrets.randbits(63), f"tenure_{secrets.token_hex(16)}",
            )  # fmt: skip
            self._tokens.append(token)
            await self._stand(connection, self._claim)

    async def _stand(self, connection: OwnAsyncConnection, claim: StandingClaim) -> None:
        receiver = self._receiver()
        if receiver is None:
            return
        tenant, before_oldest = self._caller.tenant, receiver.before_oldest
        try:
            await run_own_async(connection, lambda: self._store.leave_claim(tenant, claim, before_oldest))
        except (TenureError, psycopg.DatabaseError) as error:
            _log.info("No claim is left standing for now: %s", error)
            return
        self._left, self._paused, self._live_after = True, False, before_oldest
        # Under former ones nothing is taken any more.
        while len(self._tokens) > 1:
            await self._collect(connection, self._tokens[0])
            del self._tokens[0]

    async def hear(self, channel: str, payload: str) -> None:
        """A submission took something for the worker."""
        if self._claim is None or channel != self._claim.channel:
            return
        try:
            lease, moment, item = answer(self._claim, payload)
        except (ValueError, TypeError, ArithmeticError):
            _log.warning("What came on the channel of the standing claim cannot be read.")  # it is looked for by itself
            return
        began, server_began = self._anchor
        if lease > self._newest:
            asked_at = min(began + (moment - server_began), time.monotonic())
            await self._give(lease, item, asked_at, self._tokens[-1], self._reading.perform)

    async def look(self, connection: OwnAsyncConnection) -> None:
        """The sign of life of the connection that listens: what nobody was told of, and how far the worker has come."""
        await self._read_clock(connection)
        claim, receiver = self._claim, self._receiver()
        if claim is None or receiver is None:
            return
        if self._left:
            await self._adjust(connection, claim, receiver)
        else:
            await self._stand(connection, claim)
        await self._collect(connection, self._tokens[-1])

    async def _adjust(self, connection: OwnAsyncConnection, claim: StandingClaim, receiver: Receiver) -> None:
        store, tenant, before_oldest = self._store, self._caller.tenant, receiver.before_oldest
        slow = receiver.look_seconds - self._round_trip > _SLOW
        if self._paused and not slow:
            await self._stand(connection, claim)
        elif slow and not self._paused:
            with contextlib.suppress(SubjectBusy, StoreUnavailable):  # the worker's row is held: at the next look, then
                await run_own_async(connection, lambda: store.withdraw_claim(tenant, claim))
                self._paused = True
        elif before_oldest - self._live_after > _FAR:
            await run_own_async(connection, lambda: store.move_claim(tenant, claim, before_oldest))
            self._live_after = before_oldest

    async def withdraw(self) -> None:
        """Have nothing more taken, once nobody listens any more; what was taken until then is handed on.

        Raises StoreUnavailable where that cannot be now; what was taken is handed on when a claim is left again, then.
        """
        if self._claim is not None:
            await self._take_back(self._claim)
            self._claim, self._left = None, False
        while self._tokens:
            token, asked_at = self._tokens[0], time.monotonic()
            found = await self._keeping.attempt(partial(self._taken, token))
            await self._hand_on(found, asked_at, token, self._keeping.perform)
            del self._tokens[0]

    async def _take_back(self, claim: StandingClaim) -> None:
        for _ in range(_TRIES):
            try:
                await self._keeping.attempt(lambda: self._store.withdraw_claim(self._caller.tenant, claim))
            except StoreUnavailable as error:
                # Whoever holds the worker's row for so long is no submission, and keeps those from taking anything for it.
                _log.info("The standing claim could not be withdrawn: %s", error.message)
            else:
                return

    async def _read_clock(self, connection: OwnAsyncConnection) -> None:
        asked_at = time.monotonic()
        self._anchor = asked_at, await run_own_async(connection, self._store.server_clock)
        self._round_trip = time.monotonic() - asked_at

    async def _collect(self, connection: OwnAsyncConnection, token: Token) -> None:
        asked_at = time.monotonic()
        found = await run_own_async(connection, lambda: self._taken(token))
        await self._hand_on(found, asked_at, token, partial(run_own_async, connection))

    async def _hand_on(self, found: Mapping[int, float], asked_at: float, token: Token, read: _Read) -> None:
        """Give what nobody heard of: leases by their age (seconds), which was asked for at a moment."""
        for lease, age in found.items():
            await self._give(lease, None, asked_at - max(age, 0.0), token, read)

    def _taken(self, token: Token) -> Op[dict[int, float]]:
        return self._store.taken_under(self._worker.uid, token.digest, self._newest)

    async def _give(self, lease: int, item: Claimed | None, asked_at: float, token: Token, read: _Read) -> None:
        if item is None or exporting():
            item = await read(lambda: told(self._caller, lease, item))
        elif logged():
            item = run_pure(told(self._caller, lease, item))
        receiver = self._receiver()
        if item is not None and receiver is not None:
            receiver.given(item, token, asked_at)
            self._newest = max(self._newest, lease)
