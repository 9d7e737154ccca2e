"""Sees to what falls due where all workers are beyond HTTP: leases that lapsed (S1 section 6.5), waits of runs, schedules, and
what is kept no longer.

Workers with a database of their own do the same. For leases it is observability only: a claim takes over what lapsed,
whether it was swept or not.
"""

from __future__ import annotations

import logging
import time

from tenure.api.gateway import Gateway
from tenure.engine.actions.expire import sweep
from tenure.flow.engine.ticking import tick
from tenure.ledger.retention import Cleaning
from tenure.model.errors import TenureError
from tenure.model.principal import Identity

_log = logging.getLogger("tenure.api")
_EVERY = 5.0
_AT_ONCE = 500
_ACTOR = "system:server"


class Sweeping:
    """Sees to a tenant when one of its workers says that it is alive, every few seconds at most."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._next: dict[int, float] = {}
        self._cleaning = Cleaning()

    async def beat(self, identity: Identity) -> None:
        """See to the tenant of whoever asks, if it is time. What goes wrong is told in the log: nobody asked for it."""
        now = time.monotonic()
        if now < self._next.get(identity.tenant, 0.0):
            return
        self._next[identity.tenant] = now + _EVERY
        try:
            await self._gateway.perform(identity, lambda caller: sweep(caller.acting_as(_ACTOR), None, _AT_ONCE))
            await self._gateway.perform(identity, lambda caller: tick(caller.acting_as(_ACTOR), _AT_ONCE))
        except TenureError as error:
            _log.warning("Sweeping: %s", error.code)
        await self.clean(identity)

    async def clean(self, identity: Identity) -> None:
        """Remove what is kept no longer of the tenant of whoever asks, if it is time."""
        if not self._cleaning.due(identity.tenant):
            return
        try:
            await self._gateway.perform(identity, self._cleaning.clean)
        except TenureError as error:
            _log.warning("Cleaning: %s", error.code)
