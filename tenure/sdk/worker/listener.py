"""Hears hints that there is work. A hint that is lost costs a poll's delay, never correctness (S4 section 5.1)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection

import psycopg

from tenure.model.errors import StoreUnavailable, TenureError
from tenure.sdk.session import KEEPALIVES, opened_async
from tenure.sdk.worker.hanging_up import hanging_up
from tenure.sdk.worker.standing import Standing
from tenure.sdk.worker.transport import Hints
from tenure.store.postgres.own_connection import OwnAsyncConnection

_log = logging.getLogger("tenure.worker")
CHANNEL = "tenure_work"
_RETRY = 1.0


class Listener:
    """A connection that listens. It is asked for a sign of life every few seconds, so that a half-open one is noticed."""

    def __init__(
        self, dsn: str, tenant: int, hints: Hints, *, own: Callable[[], Collection[int | None]] = lambda: (), ping: float = 5.0,
        patience: float = 5.0, standing: Standing | None = None,
    ) -> None:  # fmt: skip
        """``own`` gives the process ids of the backends whose hints are no news here; ``standing`` is the claim to leave."""
        self._dsn = dsn
        self._own = own
        self._ping = ping
        self._patience = patience
        self._standing = standing
        self._tenant = str(tenant)
        self.hints = hints

    async def run(self) -> None:
        """Listen until canceled; where a pooler is in between, say so once and leave it to polling."""
        while True:
            try:
                connection = await OwnAsyncConnection.connect(self._dsn, autocommit=True, **KEEPALIVES)
                async with connection:
                    session = await opened_async(connection)
                    if not session.listens:
                        _log.info("Connected %s: polling for work.", session)
                        return
                    await connection.execute(f"listen {CHANNEL}")
                    if self._standing is not None:
                        await self._standing.leave(connection)
                    self.hints.listening = True
                    self.hints.heard.set()  # what came before is looked for now
                    await self._listen(connection)
            except (psycopg.Error, StoreUnavailable, OSError, TimeoutError) as error:
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    raise  # a driver may tell of its own error instead
                self.hints.listening = False
                self.hints.heard.set()
                _log.warning("Not listening for work: %s Polling meanwhile.", str(error).strip())
                if self._standing is not None:
                    with contextlib.suppress(TenureError, psycopg.Error):
                        await self._standing.withdraw()
                await asyncio.sleep(_RETRY)

    async def _listen(self, connection: OwnAsyncConnection) -> None:
        while True:
            async for notify in connection.notifies(timeout=self._ping):
                if notify.channel != CHANNEL:
                    if self._standing is not None:
                        await self._standing.hear(notify.channel, notify.payload)
                elif notify.pid not in self._own():
                    self.hear(*notify.payload.partition(" ")[::2])
            with hanging_up(connection, self._patience):
                if self._standing is not None:
                    await self._standing.look(connection)
                else:
                    await connection.execute("select 1")

    def hear(self, tenant: str, queue_key: str) -> None:
        """Work may have become claimable in a queue of a tenant (its uid, as text)."""
        if tenant == self._tenant and queue_key in self.hints.served:
            self.hints.count += 1
            self.hints.heard.set()
