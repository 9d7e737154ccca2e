"""A destination of which nothing unforeseen escapes: it is a failed delivery, which ``subscription why`` tells."""

from __future__ import annotations

import logging

from tenure.engine.logging import where
from tenure.ledger.destinations.protocol import Destination
from tenure.model.cloud_event import CloudEvent
from tenure.model.delivery import Outcome, Verdict
from tenure.model.errors import TenureError

_log = logging.getLogger("tenure.relay")


class Guarded:
    """Another destination. What it raises else than a ``TenureError``, which is of the database, is a defect of Tenure."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination

    @property
    def concurrency(self) -> int:
        """See ``Destination``."""
        return self._destination.concurrency

    async def deliver(self, event: CloudEvent) -> Verdict:
        """See ``Destination``."""
        try:
            return await self._destination.deliver(event)
        except TenureError:
            raise
        except Exception as error:
            _log.error("Event %s could not be delivered: %s", event.id, where(error))
            return Verdict(Outcome.FAILED, "unforeseen")

    async def close(self) -> None:
        """See ``Destination``."""
        await self._destination.close()
