"""Queue detail: items in execution order, filters, what happened over time, quick claim (S1 section 10.1)."""

from __future__ import annotations

from typing import Any

from tenure.engine.caller import Caller
from tenure.model.errors import QueueUnknown
from tenure.model.ordering import OrderKey, order_key
from tenure.model.queue import Queue
from tenure.model.roles import Permission
from tenure.model.states import State
from tenure.sdk import operations as ops
from tenure.store.operation import Op
from tenure.store.records import Item, ItemPage, QueueCounts, QueueSample
from tenure.ui import cells, places
from tenure.ui.actions import on_desk
from tenure.ui.actions.action import button
from tenure.ui.components.filters import Filters, narrowed
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.properties import Properties
from tenure.ui.components.section import block, section
from tenure.ui.components.tiles import Tiles
from tenure.ui.screen import Screen
from tenure.ui.screens.course import Course
from tenure.ui.screens.paging import PAGE, Pages
from tenure.wording.values import age, rate, retries, shown

_COLUMNS = [
    {"key": "subject", "label": "Subject", "align": "tight"},
    {"key": "name", "label": "Name"},
    {"key": "state", "label": "State"},
    {"key": "priority", "label": "Priority", "align": "right"},
    {"key": "ready", "label": "Ready since"},
    {"key": "due", "label": "Due"},
    {"key": "attempts", "label": "Attempts", "align": "right"},
    {"key": "tags", "label": "Site, platform, assay"},
]


_LAPSED = "its lease ran out"
_TAGS = ("site", "platform", "assay")
_FILTERS = [
    *({"name": name, "label": name.title()} for name in _TAGS),
    {"name": "state", "label": "State", "options": [
        (str(state), str(state).lower().replace("_", " ")) for state in (State.READY, State.FAILED_RETRYABLE, State.RUNNING)
    ]},
]  # fmt: skip
_NONE_FITS = {
    "title": "Nothing here fits",
    "text": "Looked as far as one page looks: go on with Next, or clear the filters.",
}


class QueueScreen(Screen):
    """One queue: what waits in it, in the order in which it will be taken."""

    async def load(self) -> None:
        """The queue with its counts and one page of items."""
        self.title = self.path["queue_key"]
        self._pages: Pages[OrderKey] = getattr(self, "_pages", Pages())
        self._course: Course = getattr(self, "_course", Course())
        self._chosen: dict[str, str] = getattr(self, "_chosen", {})
        self._queue, page, self._samples = await self.visitor.read(self._read)
        counts = await self.visitor.counts([self._queue.queue_key])
        self._counts = counts.get(self._queue.queue_key, QueueCounts(self._queue.queue_key))
        self._items = list(page.items)
        self._pages.more = page.next_after is not None
        self._next = page.next_after

    def _read(self, caller: Caller) -> Op[tuple[Queue, ItemPage, list[QueueSample]]]:
        key = self.path["queue_key"]
        queue = yield from ops.queue(caller, key)
        if queue is None:
            raise QueueUnknown(f"There is no queue {key!r}.", "Look at the list of queues.")
        samples = yield from self._course.read(caller, key)
        if not any(self._chosen.values()):
            rows = yield from ops.queue_items(caller, key, limit=PAGE + 1, after=self._pages.after)
            last = rows[PAGE - 1] if len(rows) > PAGE else None
            reached = order_key(last.envelope, last.eligible_at) if last is not None else None
            return queue, ItemPage(rows[:PAGE], reached), samples
        states = [State(self._chosen["state"])] if self._chosen.get("state") in list(State) else None
        items = yield from ops.chosen_items(
            caller, key, limit=PAGE, after=self._pages.after, states=states,
            **{name: self._chosen.get(name) or None for name in _TAGS},
        )  # fmt: skip
        return queue, items, samples

    def build(self) -> None:
        """Head and numbers, charts, items, policy."""
        self._heading = Heading(
            title=self.title, mono=True, above={"href": places.DASHBOARD, "label": "Queues"}, acts=[]
        )
        self._heading.when("act", lambda _: self._claim(None))
        self._tiles = Tiles(label="This queue", tiles=[])
        self._course.build(self.page.refresh)
        with section("Items in execution order"):
            self._filters = Filters(label="Narrow the items", fields=_FILTERS, values={})
            self._filters.when("change", self._narrow)
            self._listing = Listing(
                label="Items in execution order", columns=_COLUMNS, rows=[], walk=True, empty=None, selected=[]
            )
            self._listing.when("turn", self._turn)
            self._listing.when("act", lambda act: self._claim(act["key"]))
        with section("Policy", card=False), block("tn-card"):
            self._policy = Properties(fields=[])

    def update(self) -> None:
        """Show what was read."""
        queue, counts = self._queue, self._counts
        marks = [cells.state("enabled" if queue.enabled else "disabled")]
        marks += [cells.state("manual")] if queue.manual_only else []
        refused = None if queue.enabled else f"The queue is disabled. {queue.disabled_reason or ''}".strip()
        refused = refused if not queue.enabled or self._items or self._pages.back else "Nothing is waiting."
        claim = button(self.visitor, "claim", "Claim next", Permission.WORK, unless=refused, tone="primary", letter="c")
        self._heading.show(marks=marks, text=queue.display_name or None, acts=[claim])
        self._tiles.show(tiles=_tiles(counts))
        self._course.show(self._samples)
        self._filters.show(values=self._chosen)
        self._listing.show(
            rows=[self._row(item) for item in self._items], back=self._pages.back, more=self._pages.more,
            empty=_NONE_FITS if any(self._chosen.values()) else _empty(counts),
        )  # fmt: skip
        self._policy.show(fields=_policy(queue))

    def _row(self, item: Item) -> dict[str, Any]:
        env = item.envelope
        key = str(env.uid)
        tags = " · ".join(tag for tag in (env.site, env.platform, env.assay) if tag)
        acts = (
            [{"name": "claim", "label": "Claim"}] if self.visitor.may(Permission.WORK) and self._queue.enabled else []
        )
        return {
            "key": key, "name": item.name or key, "href": places.subject(env.uid), "acts": acts,
            "cells": [
                cells.subject(env.uid), cells.text(item.name, sub=item.external_ref),
                cells.state(env.state, sub=_LAPSED if env.state is State.RUNNING else None),
                cells.text(env.priority), cells.since(item.eligible_at), cells.until(env.due_at),
                cells.text(env.attempt_count), cells.text(tags),
            ],
        }  # fmt: skip

    async def _turn(self, way: str) -> None:
        self._pages.turn(str(way), self._next)
        await self.page.refresh()

    async def _narrow(self, change: dict[str, Any]) -> None:
        self._chosen = narrowed(self._chosen, change)
        self._pages.restart()
        await self.page.refresh()

    def _claim(self, subject: str | None) -> Any:
        return on_desk.claim_at_once(self.page, self._queue.queue_key, int(subject) if subject else None)


def _tiles(counts: QueueCounts) -> list[dict[str, Any]]:
    held, dead, online = counts.held_count, counts.dead_letter_count, counts.worker_online_count
    uncovered = counts.queue_depth > 0 and not online
    return [
        {"label": "Depth", "cell": cells.number(counts.queue_depth)},
        {"label": "Oldest", "cell": cells.text(age(counts.oldest_job_age_seconds))},
        {"label": "Active leases", "cell": cells.number(counts.active_leases)},
        {"label": "Held", "cell": cells.number(held, href=places.workbench("holds", queue=counts.queue_key)),
         "tone": "hold" if held else None},
        {"label": "Dead letters", "cell": cells.number(dead, href=places.workbench("dead-letters", queue=counts.queue_key)),
         "tone": "bad" if dead else None},
        {"label": "Workers online", "cell": cells.number(online), "tone": "warn" if uncovered else None},
        {"label": "Done / min", "cell": cells.text(rate(counts.throughput_success_per_minute))},
        {"label": "Failure rate", "cell": cells.text(f"{counts.failure_rate:.0%}"),
         "tone": "warn" if counts.failure_rate else None},
    ]  # fmt: skip


def _empty(counts: QueueCounts) -> dict[str, str]:
    busy = f" {counts.active_leases} are being worked on." if counts.active_leases else ""
    return {"title": "Nothing is waiting", "text": f"Everything that this queue may give out has been taken.{busy}"}


def _policy(queue: Queue) -> list[dict[str, Any]]:
    told = {
        "Serves": ", ".join(queue.subject_template_codes), "From states": ", ".join(queue.eligible_states),
        "Dispatch priority": queue.dispatch_priority, "Lease": age(queue.lease_ttl_seconds),
        "Attempts": queue.max_attempts_default,
        "Retry": retries(queue.retry_policy),
        "Capabilities": ", ".join(queue.required_worker_capabilities), "Sites": ", ".join(queue.site_scope),
        "Platforms": ", ".join(queue.platform_scope), "Assays": ", ".join(queue.assay_scope),
        "Revision": queue.revision, "Disabled because": queue.disabled_reason,
    }  # fmt: skip
    return [
        {"label": name, "cell": cells.text(shown(value))} for name, value in told.items() if value not in (None, "")
    ]
