"""Runs: which there are, narrowed by workflow, status and key, page by page (design 06, UI)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenure.engine.caller import Caller
from tenure.flow.model.state import RunStatus
from tenure.flow.rows import RunRow
from tenure.model import euid
from tenure.model.fact import Fact
from tenure.sdk import runs as flow
from tenure.store.operation import Op
from tenure.ui import cells, places
from tenure.ui.components.filters import Filters, narrowed
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.tabs import WORK, tabs
from tenure.ui.screen import Screen
from tenure.ui.screens.paging import PAGE, Pages

COLUMNS = [
    {"key": "run", "label": "Run", "align": "tight"}, {"key": "workflow", "label": "Workflow"},
    {"key": "status", "label": "Status"}, {"key": "key", "label": "Key"}, {"key": "waits", "label": "Stands at"},
    {"key": "started", "label": "Started"}, {"key": "ended", "label": "Ended"},
]  # fmt: skip
_STATUSES = [(str(status), str(status).lower()) for status in RunStatus]
_NONE = {
    "title": "No run was started yet",
    "text": "A run is one passage of a workflow, from its input to its end. Define a workflow, then start one:",
    "code": "tenure run start WORKFLOW",
}
_NONE_SUCH = {"title": "No such run", "text": "No run fits what you chose above."}


class Runs(Screen):
    """All runs, the newest first."""

    title = "Runs"

    async def load(self) -> None:
        """One page."""
        self._pages: Pages[int] = getattr(self, "_pages", Pages())
        asked = {name: self.query.get(name, "") for name in ("workflow", "status", "key")}
        self._chosen: dict[str, str] = getattr(self, "_chosen", asked)
        self._rows: list[RunRow] = self._pages.cut(await self.visitor.read(self._read))

    def _read(self, caller: Caller) -> Op[list[RunRow]]:
        self._names = list(dict.fromkeys(row.name for row in (yield from flow.workflows_all(caller))))
        status = self._chosen.get("status")
        return (
            yield from flow.runs(
                caller, self._chosen.get("workflow") or None, status=status if status in list(RunStatus) else None,
                key=self._chosen.get("key") or None, limit=PAGE + 1, before=self._pages.after,
            )
        )  # fmt: skip

    def build(self) -> None:
        """What narrows the list, and the list."""
        Heading(title=self.title)
        tabs("Workflows", WORK, places.RUNS)
        self._filters = Filters(label="Narrow the list", fields=[], values={})
        self._filters.when("change", self._narrow)
        self._listing = Listing(label="Runs", columns=COLUMNS, rows=[], empty=_NONE, walk=True, selected=[])
        self._listing.when("turn", self._turn)

    def update(self) -> None:
        """Show what was read."""
        names = [(name, name) for name in self._names]
        self._filters.show(
            fields=[
                {"name": "workflow", "label": "Workflow", "options": names, "any": "all"},
                {"name": "status", "label": "Status", "options": _STATUSES, "any": "any"},
                {"name": "key", "label": "Key"},
            ],
            values=self._chosen,
        )
        self._listing.show(
            rows=[row(each) for each in self._rows], back=self._pages.back, more=self._pages.more,
            empty=_NONE_SUCH if any(self._chosen.values()) else _NONE,
        )  # fmt: skip

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Whatever happens to runs or workflows."""
        return any(fact.type.startswith(("run.", "workflow.")) for fact in facts)

    async def _narrow(self, change: dict[str, Any]) -> None:
        self._chosen = narrowed(self._chosen, change)
        self._pages.restart()
        await self.page.refresh()

    async def _turn(self, way: str) -> None:
        self._pages.turn(str(way), self._rows[-1].uid if self._rows else None)
        await self.page.refresh()


def row(run: RunRow) -> dict[str, Any]:
    """One run as a row of a list."""
    name = euid.format_euid(euid.RUN, run.uid)
    return {
        "key": name, "name": name, "href": places.run(run.uid),
        "cells": [
            cells.run(run.uid), cells.link(run.name, places.workflow(run.name)), cells.state(run.status),
            _key(run),
            cells.text(run.boundary["step"]) if run.boundary else cells.text(None, tone="quiet"),
            cells.since(run.started_at), cells.since(run.ended_at),
        ],
    }  # fmt: skip


def _key(run: RunRow) -> cells.Cell:
    """What a run is called; a child is called by its parent."""
    if run.parent_run is not None:
        return cells.run(run.parent_run, sub=f"child, of {run.parent_runnable}")
    return cells.mono(run.run_key) if run.run_key else cells.text(None, tone="quiet")
