"""Schedules: what starts by itself, when next, and whether it rests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenure.flow.rows import ScheduleRow
from tenure.model.fact import Fact
from tenure.model.roles import Permission
from tenure.sdk import runs as flow
from tenure.ui import cells, places
from tenure.ui.actions import on_schedules
from tenure.ui.actions.action import button
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.tabs import WORK, tabs
from tenure.ui.screen import Screen

_COLUMNS = [
    {"key": "schedule", "label": "Schedule"}, {"key": "starts", "label": "Starts"}, {"key": "when", "label": "When"},
    {"key": "state", "label": "State"}, {"key": "next", "label": "Next due"}, {"key": "last", "label": "Last due"},
]  # fmt: skip
_EMPTY = {
    "title": "Nothing is scheduled",
    "text": "A schedule starts runs of a workflow, or puts subjects before a queue, once at each time that it names.",
}
_MISSED = {"skip": "missed: let be", "once": "missed: the last made good", "catch_up": "missed: all made good"}


class Schedules(Screen):
    """All schedules, by name."""

    title = "Schedules"

    async def load(self) -> None:
        """Those that are not retired."""
        rows = await self.visitor.read(flow.schedules_all)
        self._rows = [row for row in rows if row.retired_at is None]

    def build(self) -> None:
        """The list."""
        Heading(title=self.title)
        tabs("Workflows", WORK, places.SCHEDULES)
        self._listing = Listing(label=self.title, columns=_COLUMNS, rows=[], empty=_EMPTY, walk=True, selected=[])
        self._listing.when("act", lambda act: self._act(act["name"], act["key"]))

    def update(self) -> None:
        """Show what was read."""
        self._listing.show(rows=[self._row(row) for row in self._rows])

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Whatever happens to schedules."""
        return any(fact.type.startswith("schedule.") for fact in facts)

    def _act(self, name: str, key: str) -> None:
        if any(row.name == key for row in self._rows):
            self.page.ask(on_schedules.change(self.visitor, key, enabled=name == "resume"))

    def _row(self, row: ScheduleRow) -> dict[str, Any]:
        spec = row.spec
        starts = (
            cells.mono(spec["workflow"], href=places.workflow(spec["workflow"]), sub="a run")
            if spec.get("workflow")
            else cells.mono(spec["queue_key"], href=places.queue(spec["queue_key"]), sub="a subject")
        )
        when = f"{spec['cron']}" if spec.get("cron") else f"once, {spec['at']}"
        act = ("pause", "Pause") if row.enabled else ("resume", "Resume")
        return {
            "key": row.name, "name": row.name, "acts": [button(self.visitor, *act, Permission.OPERATE)],
            "cells": [
                cells.mono(row.name), starts,
                cells.mono(when, sub=f"{spec.get('timezone', 'UTC')}; {_MISSED[spec.get('missed', 'once')]}"),
                cells.state("enabled" if row.enabled else "paused"), cells.until(row.next_at), cells.since(row.last_at),
            ],
        }  # fmt: skip
