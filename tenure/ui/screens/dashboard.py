"""Queue dashboard: depth, oldest age, active leases, held, dead letters, worker coverage (S1 section 10.1)."""

from __future__ import annotations

from typing import Any

from tenure.model.queue import Queue
from tenure.sdk import operations as ops
from tenure.store.records import QueueCounts
from tenure.ui import cells, places
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.section import block
from tenure.ui.components.tiles import Tiles
from tenure.ui.screen import Screen
from tenure.wording.values import age, rate

_COLUMNS = [
    {"key": "queue", "label": "Queue"},
    {"key": "depth", "label": "Depth", "align": "right"},
    {"key": "oldest", "label": "Oldest", "align": "right"},
    {"key": "leases", "label": "Active leases", "align": "right"},
    {"key": "held", "label": "Held", "align": "right"},
    {"key": "dead", "label": "Dead letters", "align": "right"},
    {"key": "workers", "label": "Workers online", "align": "right"},
    {"key": "done", "label": "Done / min", "align": "right"},
    {"key": "failed", "label": "Failed / min", "align": "right"},
]
_EMPTY = {
    "title": "No queue is defined yet",
    "text": "A queue says what it serves, who may claim, and how failures are retried. Define one, or see one at work:",
    "code": "tenure demo",
}


class Dashboard(Screen):
    """All queues at a glance; what needs a person stands out."""

    title = "Queues"

    async def load(self) -> None:
        """Queues and their counts, in two statements."""
        queues = [queue for queue in await self.visitor.read(ops.queues_all) if queue.operator_visible]
        self._counts = await self.visitor.counts([queue.queue_key for queue in queues])
        self._queues = [queue for queue in queues if queue.queue_key in self._counts]

    def build(self) -> None:
        """Totals above, one row for each queue below."""
        Heading(title="Queues")
        self._tiles = Tiles(label="All queues together", tiles=[])
        with block("tn-section"):
            self._listing = Listing(
                label="Queues", columns=_COLUMNS, rows=[], empty=_EMPTY, walk=True, selectable=False, selected=[]
            )

    def update(self) -> None:
        """Show the counts."""
        self._tiles.show(tiles=_totals(list(self._counts.values())))
        self._listing.show(rows=[_row(queue, self._counts[queue.queue_key]) for queue in self._queues])


def _totals(counts: list[QueueCounts]) -> list[dict[str, Any]]:
    oldest = max((c.oldest_job_age_seconds for c in counts if c.oldest_job_age_seconds is not None), default=None)
    uncovered = sum(c.queue_depth > 0 and c.worker_online_count == 0 for c in counts)
    dead, held = sum(c.dead_letter_count for c in counts), sum(c.held_count for c in counts)
    return [
        _tile("Waiting", sum(c.queue_depth for c in counts)),
        {"label": "Oldest", "cell": cells.text(age(oldest)), "tone": None},
        _tile("Active leases", sum(c.active_leases for c in counts)),
        _tile("Held", held, href=places.workbench("holds"), tone="hold" if held else None),
        _tile("Dead letters", dead, href=places.workbench("dead-letters"), tone="bad" if dead else None),
        _tile("Unserved queues", uncovered, tone="warn" if uncovered else None),
    ]  # fmt: skip


def _tile(label: str, value: int, *, href: str | None = None, tone: str | None = None) -> dict[str, Any]:
    return {"label": label, "cell": cells.number(value, href=href), "tone": tone}


def _row(queue: Queue, counts: QueueCounts) -> dict[str, Any]:
    waiting_in_vain = counts.queue_depth > 0 and counts.worker_online_count == 0
    notes = [
        note
        for note, holds in (
            (f"disabled: {queue.disabled_reason}" if queue.disabled_reason else "disabled", not queue.enabled),
            ("people only", queue.manual_only),
            (queue.display_name, bool(queue.display_name)),
        )
        if holds
    ]
    href = places.queue(queue.queue_key)
    return {
        "key": queue.queue_key, "name": queue.queue_key, "href": href, "tone": None if queue.enabled else "off",
        "cells": [
            cells.mono(queue.queue_key, href=href, sub=", ".join(notes) or None), cells.number(counts.queue_depth),
            cells.text(age(counts.oldest_job_age_seconds)), cells.number(counts.active_leases),
            cells.number(
                counts.held_count, tone="hold",
                href=places.workbench("holds", queue=queue.queue_key) if counts.held_count else None,
            ),
            cells.number(
                counts.dead_letter_count, tone="bad",
                href=places.workbench("dead-letters", queue=queue.queue_key) if counts.dead_letter_count else None,
            ),
            cells.text("none", tone="warn") if waiting_in_vain else cells.number(counts.worker_online_count),
            _rate(counts.throughput_success_per_minute), _rate(counts.throughput_failure_per_minute, "warn"),
        ],
    }  # fmt: skip


def _rate(per_minute: float, tone: str | None = None) -> cells.Cell:
    return cells.text(rate(per_minute), tone=tone if per_minute else "quiet")
