"""Keeps the counts of queues over time for the charts, as long as the server runs."""

from __future__ import annotations

import asyncio
import logging

import psycopg
from nicegui import app, background_tasks

from tenure.api.gateway import Gateway
from tenure.model.errors import TenureError
from tenure.model.principal import Identity
from tenure.sdk import operations as ops
from tenure.ui.tally import TALLY

_log = logging.getLogger("tenure.ui")
_PERIOD = 20.0


class Sampler:
    """Asks for samples of every tenant that somebody has looked at since the server started.

    That is cheap to ask for: of all servers and workers that do, one samples, once a minute.
    """

    def __init__(self) -> None:
        self._tenants: dict[int, Identity] = {}
        self._task: asyncio.Task[None] | None = None

    def watch(self, gateway: Gateway, identity: Identity) -> None:
        """From now on the tenant of this person has samples."""
        self._tenants[identity.tenant] = identity
        if self._task is None or self._task.done():
            self._task = background_tasks.create(self._sample(gateway), name="tenure: queues are sampled")
            app.on_shutdown(self._stop)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _sample(self, gateway: Gateway) -> None:
        while True:
            for identity in list(self._tenants.values()):
                try:
                    await gateway.perform(identity, ops.sample_queues)
                    await TALLY.keep_warm(gateway, identity)
                except (TenureError, psycopg.Error) as error:
                    _log.warning("Sampling queues: %s", error)
            await asyncio.sleep(_PERIOD)


SAMPLER = Sampler()
"""One for each process, as NiceGUI is."""
