"""A workflow: its versions, the graph of one of them, what each step is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenure.engine.caller import Caller
from tenure.flow.model.errors import WorkflowUnknown
from tenure.flow.rows import WorkflowRow
from tenure.model.fact import Fact
from tenure.sdk import runs as flow
from tenure.store.operation import Op
from tenure.ui import cells, places
from tenure.ui.components.graph import Graph
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.properties import Properties
from tenure.ui.components.section import block, section
from tenure.ui.screen import Screen
from tenure.ui.screens.workflows import current

_VERSIONS = [
    {"key": "version", "label": "Version"}, {"key": "defined", "label": "Defined"}, {"key": "in-use", "label": "In use"},
]  # fmt: skip


class WorkflowScreen(Screen):
    """The definition of a workflow in one of its versions."""

    async def load(self) -> None:
        """All versions, and the graph of the one that is shown."""
        self.title = self.path["name"]
        self._step: str | None = getattr(self, "_step", None)
        self._versions, self._graph = await self.visitor.read(self._read)

    def _read(self, caller: Caller) -> Op[tuple[list[WorkflowRow], dict[str, Any]]]:
        versions = [row for row in (yield from flow.workflows_all(caller)) if row.name == self.title]
        if not versions:
            raise WorkflowUnknown(f"There is no workflow {self.title!r}.", "See the list of workflows.")
        asked = self.query.get("version", "")
        self._row = next((row for row in versions if str(row.version) == asked), current(versions))
        return versions, (yield from flow.workflow_graph(caller, self.title, self._row.version))

    def build(self) -> None:
        """Graph, chosen step, versions."""
        Heading(
            title=self.title, mono=True, above={"href": places.WORKFLOWS, "label": "Workflows"},
            marks=[cells.text(f"version {self._row.version}"), cells.link("see its runs", places.runs(workflow=self.title))],
            text=self._row.definition.get("description") or None,
        )  # fmt: skip
        with block("tn-columns"):
            with block(""), section("Graph", card=True):
                self._picture = Graph(label="Graph of the workflow")
                self._picture.when("choose", self._choose)
            with block(""):
                with block("tn-card tn-detail"):
                    self._head = Heading(title="", level=2)
                    self._told = Properties(fields=[])
                with section("Versions") as box:
                    box.classes(remove="tn-section")
                    self._listing = Listing(
                        label="Versions", columns=_VERSIONS, rows=[], empty=None, walk=True, selected=[]
                    )
                with section("Whole definition", card=True):
                    self._whole = Properties(fields=[])

    def update(self) -> None:
        """Show what was read."""
        steps = {step["name"]: step for step in self._row.definition["steps"]}
        chosen = self._step if self._step in steps else next(iter(steps))
        self._picture.draw(self._graph, chosen)
        step = dict(steps[chosen])
        self._head.show(title=chosen, marks=[cells.text(step.get("performer", "task"))])
        node = next(node for node in self._graph["nodes"] if node["id"] == chosen)
        self._told.show(
            fields=[
                *([{"label": "Queue", "cell": cells.queue(node["queue"])}] if node.get("queue") else []),
                {"label": "Definition", "cell": cells.code(step)},
            ]
        )
        self._listing.show(rows=[self._version(row) for row in reversed(self._versions)])
        whole = {name: value for name, value in self._row.definition.items() if name != "steps"}
        self._whole.show(fields=[{"label": "Without its steps", "cell": cells.code(whole)}])

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Whatever happens to workflows."""
        return any(fact.type.startswith("workflow.") for fact in facts)

    def _choose(self, step: str) -> None:
        self._step = str(step)
        self.update()

    def _version(self, row: WorkflowRow) -> dict[str, Any]:
        href = places.workflow(row.name, row.version)
        return {
            "key": str(row.version), "name": f"version {row.version}", "href": href,
            "tone": "selected" if row.uid == self._row.uid else "off" if row.retired_at else None,
            "cells": [cells.link(f"version {row.version}", href), cells.since(row.created_at),
                      cells.since(row.retired_at, before="retired") if row.retired_at else cells.text("yes")],
        }  # fmt: skip
