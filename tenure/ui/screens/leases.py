"""Leases: who holds what and for how long; an admin can force one to expire (S1 section 10.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tenure.engine import clock
from tenure.engine.caller import Caller
from tenure.model import euid
from tenure.model.roles import Permission
from tenure.model.states import LeaseStatus
from tenure.sdk import operations as ops
from tenure.store.operation import Op
from tenure.store.records import LeaseRow
from tenure.ui import cells, places
from tenure.ui.actions import on_workers
from tenure.ui.actions.action import button
from tenure.ui.components.filters import Filters, narrowed
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.screen import Screen
from tenure.ui.screens.paging import PAGE, Pages
from tenure.ui.visitor import Visitor

COLUMNS = [
    {"key": "lease", "label": "Lease", "align": "tight"},
    {"key": "status", "label": "Status"},
    {"key": "subject", "label": "Subject", "align": "tight"},
    {"key": "queue", "label": "Queue"},
    {"key": "worker", "label": "Worker"},
    {"key": "attempt", "label": "Attempt", "align": "right"},
    {"key": "claimed", "label": "Claimed"},
    {"key": "out", "label": "Runs out"},
]
_EMPTY = {"title": "No lease is here", "text": "A lease is listed from the claim on; ended ones stay as records."}
_LAPSED = "ran out, not taken over yet"
_STATUSES = tuple((str(status), status.lower()) for status in LeaseStatus)


class Leases(Screen):
    """Leases, newest first."""

    title = "Leases"

    async def load(self) -> None:
        """One page of leases, the queues to choose from, the keys of workers."""
        self._pages: Pages[int] = getattr(self, "_pages", Pages())
        self._values: dict[str, str] = getattr(
            self, "_values", {"status": "ACTIVE", "queue": self.query.get("queue", "")}
        )
        rows, self._queues, self._keys, self._now = await self.visitor.read(self._read)
        self._leases = self._pages.cut(rows)

    def _read(self, caller: Caller) -> Op[tuple[list[LeaseRow], list[str], dict[int, str], datetime]]:
        status = next((one for one in LeaseStatus if one == self._values.get("status")), None)
        rows = yield from ops.leases(
            caller, status, limit=PAGE + 1, before=self._pages.after, queue_key=self._values.get("queue") or None
        )
        queues = [queue.queue_key for queue in (yield from ops.queues_all(caller))]
        keys = {worker.uid: worker.worker_key for worker in (yield from ops.workers_all(caller))}
        return rows, queues, keys, (yield from clock.now(caller))

    def build(self) -> None:
        """What narrows the list, and the list."""
        Heading(title=self.title)
        self._filters = Filters(label="Narrow the leases", fields=[], values={})
        self._filters.when("change", self._narrow)
        self._listing = Listing(label="Leases", columns=COLUMNS, rows=[], empty=_EMPTY, walk=True, selected=[])
        self._listing.when("act", lambda act: expire(self, self._leases, act["key"], self._now))
        self._listing.when("turn", self._turn)

    def update(self) -> None:
        """Show what was read."""
        self._filters.show(
            fields=[
                {"name": "status", "label": "Status", "options": _STATUSES, "any": "all"},
                {"name": "queue", "label": "Queue", "options": [(key, key) for key in self._queues], "any": "all"},
            ],
            values=self._values,
        )  # fmt: skip
        self._listing.show(
            rows=[row(self.visitor, each, self._keys, self._now) for each in self._leases], back=self._pages.back,
            more=self._pages.more,
        )  # fmt: skip

    async def _narrow(self, change: dict[str, Any]) -> None:
        self._values = narrowed(self._values, change)
        self._pages.restart()
        await self.page.refresh()

    async def _turn(self, way: str) -> None:
        self._pages.turn(str(way), self._leases[-1].attempt.uid if self._leases else None)
        await self.page.refresh()


def row(visitor: Visitor, lease: LeaseRow, keys: Mapping[int, str], now: datetime) -> dict[str, Any]:
    """A lease as a row."""
    attempt = lease.attempt
    name = euid.format_euid(euid.LEASE, attempt.uid)
    acts = []
    if attempt.live and visitor.may(Permission.ADMINISTER):
        acts.append(button(visitor, "expire", "Expire", Permission.ADMINISTER, tone="danger"))
    ends = cells.until(attempt.expires_at) if attempt.live else cells.since(attempt.ended_at)
    return {
        "key": str(attempt.uid), "name": name, "href": places.subject(attempt.subject), "acts": acts,
        "cells": [
            cells.mono(name), cells.state(attempt.lease_status, sub=_LAPSED if attempt.expired(now) else None),
            cells.subject(attempt.subject), cells.queue(attempt.queue_key), cells.worker(attempt.worker, dict(keys)),
            cells.text(attempt.attempt_number), cells.since(attempt.claimed_at), ends,
        ],
    }  # fmt: skip


def expire(screen: Screen, leases: Sequence[LeaseRow], key: str, now: datetime) -> None:
    """Ask for the reason to end a lease."""
    for lease in leases:
        if str(lease.attempt.uid) == key:
            live = not lease.attempt.expired(now)
            screen.page.ask(on_workers.expire_lease(screen.visitor, lease.attempt.uid, live=live))
