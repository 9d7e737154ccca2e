"""Workflows: what is defined, in which versions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from tenure.flow.rows import WorkflowRow
from tenure.model.fact import Fact
from tenure.sdk import runs as flow
from tenure.ui import cells, places
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.tabs import WORK, tabs
from tenure.ui.screen import Screen

_COLUMNS = [
    {"key": "workflow", "label": "Workflow"}, {"key": "version", "label": "Version", "align": "right"},
    {"key": "versions", "label": "Versions", "align": "right"}, {"key": "steps", "label": "Steps", "align": "right"},
    {"key": "runs", "label": "Runs"}, {"key": "defined", "label": "Defined"},
]  # fmt: skip
_EMPTY = {
    "title": "No workflow is defined yet",
    "text": "A workflow says which steps there are, who does them, and what follows what. See some at work:",
    "code": "tenure demo",
}


class Workflows(Screen):
    """One row for each workflow."""

    title = "Workflows"

    async def load(self) -> None:
        """All versions."""
        self._rows = await self.visitor.read(flow.workflows_all)

    def build(self) -> None:
        """The list."""
        Heading(title=self.title)
        tabs("Workflows", WORK, places.WORKFLOWS)
        self._listing = Listing(label="Workflows", columns=_COLUMNS, rows=[], empty=_EMPTY, walk=True, selected=[])

    def update(self) -> None:
        """Show the newest version of each in use."""
        named = groupby(self._rows, key=lambda row: row.name)
        self._listing.show(rows=[_row(list(versions)) for _, versions in named])

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Whatever happens to workflows."""
        return any(fact.type.startswith("workflow.") for fact in facts)


def current(versions: Sequence[WorkflowRow]) -> WorkflowRow:
    """The newest that is in use; where none is, the newest."""
    return max(versions, key=lambda row: (row.retired_at is None, row.version))


def _row(versions: list[WorkflowRow]) -> dict[str, Any]:
    row = current(versions)
    about = row.definition.get("description") or None
    return {
        "key": row.name, "name": row.name, "href": places.workflow(row.name), "tone": "off" if row.retired_at else None,
        "cells": [
            cells.mono(row.name, href=places.workflow(row.name), sub="retired" if row.retired_at else about),
            cells.text(row.version), cells.text(len(versions)), cells.text(len(row.definition["steps"])),
            cells.link("see its runs", places.runs(workflow=row.name)), cells.since(row.created_at),
        ],
    }  # fmt: skip
