"""Worker dashboard: status, heartbeat, leases, capabilities and scopes; drain, disable, enable, retire (S1 section 10.1)."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from tenure.engine import clock
from tenure.engine.caller import Caller
from tenure.model.roles import Permission
from tenure.model.states import WorkerStatus
from tenure.model.worker import Worker
from tenure.sdk import operations as ops
from tenure.store.operation import Op
from tenure.store.records import WorkerLoad
from tenure.ui import cells, places
from tenure.ui.actions import on_workers
from tenure.ui.actions.action import button
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.section import block
from tenure.ui.components.tiles import Tiles
from tenure.ui.screen import Screen
from tenure.ui.visitor import Visitor

_COLUMNS = [
    {"key": "worker", "label": "Worker"},
    {"key": "status", "label": "Status"},
    {"key": "beat", "label": "Last heartbeat"},
    {"key": "leases", "label": "Active leases", "align": "right"},
    {"key": "can", "label": "Capabilities"},
    {"key": "scopes", "label": "Scopes"},
]
_EMPTY = {
    "title": "No worker has registered",
    "text": "A worker is a process, an instrument or a person that takes work from queues. Start one:",
    "code": "tenure worker MODULE:APP",
}
_NO_LIMIT = 1_000_000
_ORDER = (WorkerStatus.ONLINE, WorkerStatus.DRAINING, WorkerStatus.OFFLINE, WorkerStatus.DISABLED)


class Workers(Screen):
    """All workers, those that work first."""

    title = "Workers"

    async def load(self) -> None:
        """Workers, their live leases, and the time to judge heartbeats by."""
        loads, self._now = await self.visitor.read(_read)
        self._workers = [load.worker for load in loads]
        self._live = {load.worker.uid: load.active_leases for load in loads}

    def build(self) -> None:
        """How many of each status, and all of them."""
        Heading(title=self.title)
        self._tiles = Tiles(label="Workers by status", tiles=[])
        with block("tn-section"):
            self._listing = Listing(label="Workers", columns=_COLUMNS, rows=[], empty=_EMPTY, walk=True, selected=[])
            self._listing.when("act", self._act)

    def update(self) -> None:
        """Show what was read."""
        status = {worker.uid: worker.effective_status(self._now) for worker in self._workers}
        counted = Counter(status.values())
        self._tiles.show(
            tiles=[{"label": str(one).title(), "cell": cells.number(counted[one]),
                    "tone": "bad" if one is WorkerStatus.OFFLINE and counted[one] else None} for one in _ORDER]
        )  # fmt: skip
        ordered = sorted(self._workers, key=lambda w: (_ORDER.index(status[w.uid]), w.worker_key))
        self._listing.show(rows=[self._row(worker, status[worker.uid]) for worker in ordered])

    def _row(self, worker: Worker, status: WorkerStatus) -> dict[str, Any]:
        return {
            "key": str(worker.uid), "name": worker.worker_key, "href": places.worker(worker.uid),
            "acts": buttons(self.visitor, worker, retire=False),
            "cells": [
                cells.mono(worker.worker_key, href=places.worker(worker.uid), sub=about(worker)),
                cells.state(status, sub=worker.disabled_reason), cells.since(worker.heartbeat_at),
                cells.text(_of(self._live.get(worker.uid, 0), worker.max_concurrent_leases)),
                cells.text(", ".join(worker.capabilities)), cells.text(scopes(worker)),
            ],
        }  # fmt: skip

    def _act(self, act: dict[str, str]) -> None:
        for worker in self._workers:
            if str(worker.uid) == act["key"]:
                self.page.ask(on_workers.change(self.visitor, worker, act["name"]))


def _of(live: int, limit: int) -> str:
    """How many leases of how many; where the limit is none to speak of, how many."""
    return f"{live} of {limit:,}" if limit < _NO_LIMIT else f"{live}"


def about(worker: Worker) -> str:
    """What kind of worker it is and where it runs."""
    kind = worker.worker_type.lower().replace("_", " ")
    return " · ".join(part for part in (worker.display_name, kind, worker.host) if part)


def scopes(worker: Worker) -> str:
    """Sites, platforms and assays that it is bound to."""
    return " · ".join(
        ", ".join(scope) for scope in (worker.site_scope, worker.platform_scope, worker.assay_scope) if scope
    )


def buttons(visitor: Visitor, worker: Worker, *, retire: bool) -> list[dict[str, Any]]:
    """What an admin can do to it; for others nothing is there."""
    if not visitor.may(Permission.ADMINISTER):
        return []
    acts = []
    if worker.status is WorkerStatus.ONLINE:
        acts.append(button(visitor, "drain", "Drain", Permission.ADMINISTER))
    if worker.status in (WorkerStatus.ONLINE, WorkerStatus.DRAINING):
        acts.append(button(visitor, "disable", "Disable", Permission.ADMINISTER, tone="danger"))
    if worker.status in (WorkerStatus.DRAINING, WorkerStatus.DISABLED):
        acts.append(button(visitor, "enable", "Enable", Permission.ADMINISTER))
    if retire and worker.status is not WorkerStatus.RETIRED:
        acts.append(button(visitor, "retire", "Retire", Permission.ADMINISTER, tone="danger"))
    return acts


def _read(caller: Caller) -> Op[tuple[list[WorkerLoad], datetime]]:
    return (yield from ops.worker_loads(caller)), (yield from clock.now(caller))
