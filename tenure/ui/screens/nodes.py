"""Management nodes: which there are, whether each polls, what waits for it and what it has (S5; design 06, UI). For admins."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tenure.engine import clock
from tenure.engine.caller import Caller
from tenure.model.fact import Fact
from tenure.remote.engine import nodes
from tenure.remote.model.names import queue_key_of
from tenure.remote.rows import NodeRow
from tenure.store.operation import Op
from tenure.ui import cells, places
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.tabs import REMOTE, tabs
from tenure.ui.screen import Screen

_COLUMNS = [
    {"key": "node", "label": "Node"}, {"key": "state", "label": "State"}, {"key": "poll", "label": "Last poll"},
    {"key": "scheduler", "label": "Scheduler"}, {"key": "queues", "label": "Queues"},
    {"key": "waiting", "label": "Waiting", "align": "right"}, {"key": "flight", "label": "In flight", "align": "right"},
    {"key": "holds", "label": "Agent holds", "align": "right"},
]  # fmt: skip
_EMPTY = {
    "title": "No management node is defined",
    "text": "A management node stands for a cluster: its agent takes submissions and reports how they go. Define one:",
    "code": "tenure node define NODE --queue normal=partition:cpu",
}


class Nodes(Screen):
    """All management nodes, by name."""

    title = "Management nodes"

    async def load(self) -> None:
        """Nodes, the time to judge their polls by, and what their queues hold."""
        self._nodes, self._now = await self.visitor.read(_read)
        self._counts = await self.visitor.counts([queue_key_of(node.name) for node in self._nodes])

    def build(self) -> None:
        """The list."""
        Heading(title=self.title)
        tabs("Remote", REMOTE, places.NODES)
        self._listing = Listing(label=self.title, columns=_COLUMNS, rows=[], empty=_EMPTY, walk=True, selected=[])

    def update(self) -> None:
        """Show what was read."""
        self._listing.show(rows=[self._row(node) for node in self._nodes])

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Whatever happens to nodes, and what they are given; that one falls silent is seen with the time."""
        return any(fact.type.startswith(("node.", "submission.", "execution_event.")) for fact in facts)

    def _row(self, node: NodeRow) -> dict[str, Any]:
        key = queue_key_of(node.name)
        counts = self._counts.get(key)
        queues = sorted(node.spec["queues"])
        return {
            "key": node.name, "name": node.name, "href": places.node(node.name),
            "cells": [
                cells.mono(node.name, href=places.node(node.name), sub=node.spec.get("display_name") or None),
                standing(node, self._now), polled(node), cells.text(node.scheduler), cells.text(", ".join(queues)),
                cells.number(counts.queue_depth if counts else None, href=places.queue(key)),
                cells.number(counts.active_leases if counts else None, href=places.submissions(node=node.name)),
                cells.number(node.holding),
            ],
        }  # fmt: skip


def standing(node: NodeRow, now: datetime) -> cells.Cell:
    """Whether it polls, and what is wrong where something is."""
    if node.silent(now):
        return cells.state("silent", sub=f"polls within {node.spec['silent_after_seconds']} s else")
    if node.scheduler_problem is not None:
        return cells.state("problem", sub=node.scheduler_problem)
    return cells.state("draining", sub="takes nothing new") if node.draining else cells.state("online")


def polled(node: NodeRow) -> cells.Cell:
    """When it polled last."""
    return cells.since(node.polled_at) if node.polled_at is not None else cells.text("never", tone="quiet")


def _read(caller: Caller) -> Op[tuple[list[NodeRow], datetime]]:
    return (yield from nodes.known(caller)), (yield from clock.now(caller))
