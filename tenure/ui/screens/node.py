"""A management node: how it stands, what may run in its queues, what happened to it (S5; design 06, UI). For admins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenure.engine.caller import Caller
from tenure.model.fact import Fact
from tenure.remote.engine.nodes import NodeStanding, node_named
from tenure.remote.model.names import queue_key_of
from tenure.remote.model.node import NodeQueue
from tenure.sdk import operations as ops
from tenure.store.operation import Op
from tenure.store.records import QueueCounts
from tenure.ui import cells, places
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.properties import Properties
from tenure.ui.components.section import block, section
from tenure.ui.components.tiles import Tiles
from tenure.ui.components.timeline import Timeline
from tenure.ui.screen import Screen
from tenure.ui.screens import story
from tenure.ui.screens.nodes import polled, standing
from tenure.ui.screens.paging import ThreadPages
from tenure.wording.values import age, retries

_QUEUES = [
    {"key": "queue", "label": "Queue"}, {"key": "partition", "label": "Partition"}, {"key": "account", "label": "Account"},
    {"key": "qos", "label": "QOS"}, {"key": "walltime", "label": "Wall time", "align": "right"},
    {"key": "cpu", "label": "Cores", "align": "right"}, {"key": "memory", "label": "MiB", "align": "right"},
]  # fmt: skip


class NodeScreen(Screen):
    """Everything about one management node."""

    async def load(self) -> None:
        """The node, its facts, what its queue holds."""
        self._pages: ThreadPages = getattr(self, "_pages", ThreadPages())
        self._seen, self._facts = await self.visitor.read(self._read)
        key = queue_key_of(self._seen.node.name)
        self._counts = (await self.visitor.counts([key])).get(key)
        self.title = self._seen.node.name

    def _read(self, caller: Caller) -> Op[tuple[NodeStanding, list[Fact]]]:
        seen = yield from node_named(caller, self.path["node"])
        after, many = self._pages.window(seen.node.seq)
        return seen, (yield from ops.facts(caller, seen.node.uid, after_seq=after, limit=many))

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Its own facts, and what its worker does."""
        node = self._seen.node
        return any(fact.thread == node.uid or fact.worker == node.worker for fact in facts)

    def build(self) -> None:
        """How it stands, what may run there, its history."""
        self._heading = Heading(title=self.title, mono=True, above={"href": places.NODES, "label": "Management nodes"})
        self._tiles = Tiles(label="What it has", tiles=[])
        with block("tn-section"), block("tn-columns"):
            with block(""):
                with section("Queues and what may be asked of them") as box:
                    box.classes(remove="tn-section")
                    self._queues = Listing(
                        label="Queues of the node", columns=_QUEUES, rows=[], empty=None, selected=[]
                    )
                with section("Node", card=True):
                    self._about = Properties(fields=[])
            with block(""), section("History", card=True):
                self._timeline = Timeline(label="History, newest first", entries=[])
                self._timeline.when("turn", self._turn)

    def update(self) -> None:
        """Show what was read."""
        node, spec = self._seen.node, self._seen.node.parsed()
        poll = polled(node)
        marks = [standing(node, self._seen.at) | {"sub": None}, poll | {"before": "last poll"}]
        self._heading.show(marks=marks, text=spec.display_name or None)
        self._tiles.show(tiles=_tiles(self._seen, self._counts))
        self._queues.show(rows=[_queue(name, queue) for name, queue in sorted(spec.queues.items())])
        self._about.show(fields=_about(self._seen))
        self._timeline.show(
            entries=story.of_thread(self._facts, {}), back=self._pages.back, more=self._pages.more
        )  # fmt: skip

    async def _turn(self, way: str) -> None:
        self._pages.leaf(str(way))
        await self.page.refresh()


def _tiles(seen: NodeStanding, counts: QueueCounts | None) -> list[dict[str, Any]]:
    node = seen.node
    waiting, flight = (counts.queue_depth, counts.active_leases) if counts is not None else (None, None)
    return [
        {"label": "Waiting", "cell": cells.number(waiting, href=places.queue(queue_key_of(node.name)))},
        {"label": "In flight", "cell": cells.number(flight, href=places.submissions(node=node.name))},
        {"label": "Agent holds", "cell": cells.number(node.holding)},
        {"label": "Oldest waits", "cell": cells.text(age(counts.oldest_job_age_seconds if counts else None))},
        {"label": "Done / min", "cell": cells.text(f"{counts.throughput_success_per_minute:.1f}" if counts else None)},
        {"label": "Dead letters", "cell": cells.number(
            counts.dead_letter_count if counts else None,
            href=places.workbench("dead-letters", queue=queue_key_of(node.name)),
        ), "tone": "bad" if counts and counts.dead_letter_count else None},
    ]  # fmt: skip


def _queue(name: str, queue: NodeQueue) -> dict[str, Any]:
    return {
        "key": name, "name": name,
        "cells": [
            cells.mono(name), cells.text(queue.partition or "default"), _allowed(queue.account, queue.accounts),
            _allowed(queue.qos, queue.qos_allowed), _most(age(queue.max_walltime_seconds), queue.max_walltime_seconds),
            _most(f"{queue.max_cpu:,}" if queue.max_cpu else "", queue.max_cpu),
            _most(f"{queue.max_memory_mib:,}" if queue.max_memory_mib else "", queue.max_memory_mib),
        ],
    }  # fmt: skip


def _allowed(default: str | None, others: Sequence[str]) -> cells.Cell:
    return cells.text(default or "default", sub=f"or {', '.join(others)}" if others else None)


def _most(words: str, limit: int | None) -> cells.Cell:
    return cells.text(words) if limit is not None else cells.text("any", tone="quiet")


def _about(seen: NodeStanding) -> list[dict[str, Any]]:
    node, spec = seen.node, seen.node.parsed()
    key = queue_key_of(node.name)
    problem = node.scheduler_problem
    told = [
        ("Scheduler", cells.text(node.scheduler)),
        ("Its problem", cells.text(problem, tone="bad") if problem is not None else None),
        ("Since", cells.since(node.problem_since) if problem is not None and node.problem_since is not None else None),
        ("A job of it", cells.text(node.job_problem, tone="bad") if node.job_problem is not None else None),
        ("Agent", cells.mono(node.agent_id) if node.agent_id else cells.text("none has polled yet", tone="quiet")),
        ("Principal", cells.mono(seen.principal)),
        ("Worker", cells.worker(node.worker, {node.worker: key})),
        ("Queue", cells.queue(key)),
        ("Silent after", cells.text(age(spec.silent_after_seconds))),
        ("Lease until accepted", cells.text(age(spec.lease_seconds))),
        ("Executions at most", cells.text(spec.max_attempts)),
        ("Retry", cells.text(retries(spec.retry))),
        ("Defined", cells.since(node.created_at)),
    ]  # fmt: skip
    return [{"label": label, "cell": cell} for label, cell in told if cell is not None]
