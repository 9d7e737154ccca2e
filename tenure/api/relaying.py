"""The relay of a server: events leave from here, too, where the server's database role may do what a relay does."""

from __future__ import annotations

import asyncio
import logging

from tenure.api.settings import ServerSettings
from tenure.model.errors import TenureError
from tenure.sdk.relay import NoRelay, Relay, RelayConnections, RelaySettings, relay_over

_log = logging.getLogger("tenure.relay")
_AWAY = 5.0


class Relaying:
    """Runs a relay in the background of a server, for all tenants. A database that is away is waited for."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._relay: Relay | None = None
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin, where the settings say so."""
        if self._settings.relay:
            self._task = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Begin no more deliveries."""
        if self._relay is not None:
            self._relay.stop()

    async def close(self) -> None:
        """Finish the deliveries under way, and give the leases back."""
        if self._task is None:
            return
        if self._relay is None:
            self._task.cancel()
        self.stop()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        connections = RelayConnections(self._settings.dsn, self._settings.clock)
        while True:
            try:
                await connections.open()
                break
            except NoRelay as error:
                _log.warning("This server sends no events. %s %s", error.message, error.hint)
                return
            except TenureError as error:
                _log.warning("Relay: %s", error.message)
                await asyncio.sleep(_AWAY)
        self._relay = relay_over(connections, RelaySettings(files=self._settings.event_files))
        try:
            await self._relay.run()
        finally:
            await connections.close()
