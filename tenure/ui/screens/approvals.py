"""Approvals: every run that stands at a manual boundary and waits for a person (S3, Manual Boundaries)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from tenure.engine.caller import Caller
from tenure.flow.engine.flow import flow_of
from tenure.flow.model.deciders import Rights, approvers_of, refusal
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.rows import RunRow
from tenure.model import euid
from tenure.model.fact import Fact
from tenure.model.roles import Permission
from tenure.sdk import runs as flow
from tenure.store.operation import Op
from tenure.ui import cells, places
from tenure.ui.actions import on_runs
from tenure.ui.actions.action import Action, button
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.tabs import WORKBENCH, tabs
from tenure.ui.screen import Screen
from tenure.ui.screens.paging import PAGE, Pages
from tenure.wording.values import shown

_COLUMNS = [
    {"key": "run", "label": "Run", "align": "tight"}, {"key": "workflow", "label": "Workflow"},
    {"key": "step", "label": "Stands at"}, {"key": "input", "label": "Input"}, {"key": "since", "label": "Since"},
    {"key": "deadline", "label": "Deadline"},
]  # fmt: skip
_EMPTY = {
    "title": "Nothing waits for a decision",
    "text": "A run that comes to an approval or a pause stands there until somebody decides. It is listed here then.",
}
_ROOM = 120


class Approvals(Screen):
    """What waits for a person to approve, to reject, or to resume."""

    title = "Approvals"

    async def load(self) -> None:
        """One page."""
        self._pages: Pages[int] = getattr(self, "_pages", Pages())
        self._rows: list[RunRow] = self._pages.cut(await self.visitor.read(self._read))

    def _read(self, caller: Caller) -> Op[list[RunRow]]:
        rows = yield from flow.runs(caller, waiting=True, limit=PAGE + 1, before=self._pages.after)
        known = yield from flow_of(caller).definitions(caller.tenant, {row.workflow for row in rows})
        here = [(row.uid, known.get(row.workflow), row.boundary["step"]) for row in rows if row.boundary is not None]
        self._asks: dict[int, str] = {uid: _asks(definition, step) for uid, definition, step in here if definition}
        self._approvers = {uid: approvers_of(definition, step) for uid, definition, step in here}
        return rows

    def build(self) -> None:
        """A tab of the workbench."""
        Heading(title="Workbench")
        tabs("Workbench", WORKBENCH, places.APPROVALS)
        self._listing = Listing(label=self.title, columns=_COLUMNS, rows=[], empty=_EMPTY, walk=True, selected=[])
        self._listing.when("act", lambda act: self._act(act["name"], act["key"]))
        self._listing.when("turn", self._turn)

    def update(self) -> None:
        """Show what was read."""
        self._listing.show(rows=[self._row(run) for run in self._rows], back=self._pages.back, more=self._pages.more)

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Whatever happens to runs."""
        return any(fact.type.startswith("run.") for fact in facts)

    def _act(self, name: str, key: str) -> None:
        for run in self._rows:
            if str(run.uid) == key and run.boundary is not None:
                ask(self, name, run, self._asks.get(run.uid))

    def _row(self, run: RunRow) -> dict[str, Any]:
        here = run.boundary or {}
        given = shown(run.input)
        return {
            "key": str(run.uid), "name": euid.format_euid(euid.RUN, run.uid), "href": places.run(run.uid),
            "acts": buttons(self, run, self._approvers.get(run.uid, ())),
            "cells": [
                cells.run(run.uid), cells.link(run.name, places.workflow(run.name), sub=run.run_key),
                cells.text(here.get("step"), sub=self._asks.get(run.uid) or here.get("kind")),
                cells.mono(given if len(given) <= _ROOM else f"{given[:_ROOM]}…"), cells.since(_time(here.get("since"))),
                cells.until(_time(here.get("deadline"))),
            ],
        }  # fmt: skip

    async def _turn(self, way: str) -> None:
        self._pages.turn(str(way), self._rows[-1].uid if self._rows else None)
        await self.page.refresh()


def buttons(screen: Screen, run: RunRow, approvers: Sequence[str]) -> list[dict[str, Any]]:
    """What can be decided where the run stands; disabled for whom the step does not name, with who may."""
    if run.boundary is None:
        return []
    if run.boundary["kind"] != "approval":
        return [button(screen.visitor, "resume", "Resume", Permission.OPERATE)]
    who = screen.visitor.identity
    error = refusal(run.boundary["step"], approvers, who.actor, Rights(who.roles, trusted=False))
    refused = error.message if error is not None and approvers else None
    needed = Permission.WORK if approvers else Permission.OPERATE
    return [
        button(screen.visitor, "approve", "Approve", needed, unless=refused),
        button(screen.visitor, "reject", "Reject", needed, unless=refused, tone="danger"),
    ]


def ask(screen: Screen, name: str, run: RunRow, asks: str | None) -> None:
    """Open the form of a decision; ``asks`` is the question that the workflow puts."""
    here = run.boundary
    if here is None:
        return
    deeds: dict[str, Callable[[], Action]] = {
        "approve": lambda: on_runs.approve(screen.visitor, run.uid, here, asks),
        "reject": lambda: on_runs.reject(screen.visitor, run.uid, here, asks),
        "resume": lambda: on_runs.resume(screen.visitor, run.uid, here["step"]),
    }
    if name in deeds:
        screen.page.ask(deeds[name]())


def _asks(definition: WorkflowDefinition, step: str) -> str:
    found = next((each for each in definition.steps if each.name == step), None)
    return (found.description or getattr(found, "prompt", "")) if found is not None else ""


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
