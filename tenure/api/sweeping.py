"""Expires what workers let lapse, so that nothing shows as RUNNING for ever where all workers are beyond HTTP (S1 section 6.5).

For observability only: a claim takes over what lapsed, whether it was swept or not.
"""

from __future__ import annotations

import logging
import time

from tenure.api.gateway import Gateway
from tenure.engine.actions.expire import sweep
from tenure.model.errors import TenureError
from tenure.model.principal import Identity

_log = logging.getLogger("tenure.api")
_EVERY = 5.0
_AT_ONCE = 500
_ACTOR = "system:server"


class Sweeping:
    """Sweeps a tenant when one of its workers says that it is alive, every few seconds at most."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._next: dict[int, float] = {}

    async def beat(self, identity: Identity) -> None:
        """Sweep the tenant of whoever asks, if it is time. What goes wrong is told in the log: nobody asked for it."""
        now = time.monotonic()
        if now < self._next.get(identity.tenant, 0.0):
            return
        self._next[identity.tenant] = now + _EVERY
        try:
            await self._gateway.perform(identity, lambda caller: sweep(caller.acting_as(_ACTOR), None, _AT_ONCE))
        except TenureError as error:
            _log.warning("Sweeping: %s", error.code)
