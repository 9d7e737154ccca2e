"""The destination of event triggers: runs of workflows in the same database (design 05, Trigger-out)."""

from __future__ import annotations

import json

from tenure.engine.caller import Caller
from tenure.flow.engine.triggered import ACTOR, start_by_event
from tenure.flow.postgres import flow_on
from tenure.ledger.relaying.leader import Perform
from tenure.ledger.rows import Watched
from tenure.model.cloud_event import CloudEvent
from tenure.model.delivery import DELIVERED, Outcome, Verdict
from tenure.model.errors import StoreUnavailable, TenureError
from tenure.model.subscription import WorkflowTrigger
from tenure.store.operation import Op
from tenure.store.port import Store
from tenure.store.postgres.store import PostgresStore

_SERVER_ERROR = 500


class TriggerDestination:
    """Starts runs of one workflow by one of its triggers."""

    concurrency = 2

    def __init__(self, perform: Perform, watched: Watched, settings: WorkflowTrigger) -> None:
        self._perform = perform
        self._watched = watched
        self._settings = settings
        self._flow = flow_on(PostgresStore())

    async def deliver(self, event: CloudEvent) -> Verdict:
        """See ``Destination``. What cannot start a run is refused; the database being away says nothing about the event."""

        def started(store: Store) -> Op[int | None]:
            caller = Caller(store, self._watched.tenant, ACTOR, self._watched.tenant_key, followers=(self._flow,))
            document = json.loads(event.body)
            return start_by_event(caller, self._settings.workflow, self._settings.trigger, event.fact, document)

        try:
            await self._perform(started)
        except StoreUnavailable as error:
            return Verdict(Outcome.DOWN, error.code)
        except TenureError as error:
            return Verdict(Outcome.FAILED if error.status >= _SERVER_ERROR else Outcome.REFUSED, error.code)
        return DELIVERED

    async def close(self) -> None:
        """See ``Destination``."""
