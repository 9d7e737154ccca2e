"""Submissions: what products asked management nodes to run, narrowed by state, node, workspace and job (S5; design 06, UI)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.engine.caller import Caller
from tenure.model.fact import Fact
from tenure.remote.engine import nodes, reading
from tenure.remote.engine.remote import remote_of
from tenure.remote.model.fields import ProjectionState
from tenure.remote.model.names import submission_id_of
from tenure.remote.rows import ExecutionRow, SubmissionPage, SubmissionRow
from tenure.store.operation import Op
from tenure.ui import cells, places
from tenure.ui.components.filters import Filters, narrowed
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.tabs import REMOTE, tabs
from tenure.ui.screen import Screen
from tenure.ui.screens.paging import PAGE, Pages

_COLUMNS = [
    {"key": "submission", "label": "Submission", "align": "tight"}, {"key": "state", "label": "State"},
    {"key": "job", "label": "Job"}, {"key": "workspace", "label": "Workspace"}, {"key": "node", "label": "Node"},
    {"key": "scheduler", "label": "Scheduler's job"}, {"key": "accepted", "label": "Submitted"},
    {"key": "moved", "label": "Last moved"},
]  # fmt: skip
_STATES = [(str(state), str(state)) for state in ProjectionState]
_FILTERS = ("state", "node", "workspace", "job")
_NONE = {
    "title": "Nothing was submitted yet",
    "text": "A submission is a job for a cluster that a management node stands for. Define a node, start its agent, then submit:",
    "code": "tenure submission submit @command.json",
}
_NONE_SUCH = {"title": "No such submission", "text": "No submission fits what you chose above."}
_NOT_HERE = {
    "title": "None among those looked at",
    "text": "No submission of this part of the list fits what you chose above. Next looks at older ones.",
}


class Submissions(Screen):
    """All submissions, the newest first."""

    title = "Submissions"

    async def load(self) -> None:
        """One page, with how each newest execution stands."""
        self._pages: Pages[int] = getattr(self, "_pages", Pages())
        asked = {name: self.query.get(name, "") for name in _FILTERS}
        self._chosen: dict[str, str] = getattr(self, "_chosen", asked)
        self._page, self._executions, self._nodes = await self.visitor.read(self._read)
        self._pages.more = self._page.next_before is not None

    def _read(self, caller: Caller) -> Op[tuple[SubmissionPage, Mapping[int, Sequence[ExecutionRow]], list[str]]]:
        known = [row.name for row in (yield from nodes.known(caller))]
        chosen = {name: self._chosen.get(name) or None for name in _FILTERS}
        if chosen["node"] is not None and chosen["node"] not in known:
            return SubmissionPage((), None), {}, known
        state = chosen["state"]
        page = yield from reading.submissions(
            caller, workspace_id=chosen["workspace"], job_id=chosen["job"], node=chosen["node"], limit=PAGE,
            projection_state=ProjectionState(state) if state in list(ProjectionState) else None, before=self._pages.after,
        )  # fmt: skip
        executions = yield from remote_of(caller).storage.executions([row.uid for row in page.submissions])
        return page, executions, known

    def build(self) -> None:
        """What narrows the list, and the list."""
        Heading(title=self.title)
        tabs("Remote", REMOTE, places.SUBMISSIONS)
        self._filters = Filters(label="Narrow the list", fields=[], values={})
        self._filters.when("change", self._narrow)
        self._listing = Listing(label=self.title, columns=_COLUMNS, rows=[], empty=_NONE, walk=True, selected=[])
        self._listing.when("turn", self._turn)

    def update(self) -> None:
        """Show what was read."""
        self._filters.show(
            fields=[
                {"name": "state", "label": "State", "options": _STATES},
                {"name": "node", "label": "Node", "options": [(name, name) for name in self._nodes], "any": "all"},
                {"name": "workspace", "label": "Workspace"},
                {"name": "job", "label": "Job"},
            ],
            values=self._chosen,
        )
        empty = _NOT_HERE if self._pages.more else _NONE_SUCH if any(self._chosen.values()) else _NONE
        self._listing.show(
            rows=[self._row(each) for each in self._page.submissions], back=self._pages.back, more=self._pages.more,
            empty=empty,
        )  # fmt: skip

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """New ones, and whatever happens to those that are shown."""
        shown = {row.uid for row in self._page.submissions}
        return any(fact.thread in shown or fact.type == "submission.accepted" for fact in facts)

    async def _narrow(self, change: dict[str, Any]) -> None:
        self._chosen = narrowed(self._chosen, change)
        self._pages.restart()
        await self.page.refresh()

    async def _turn(self, way: str) -> None:
        self._pages.turn(str(way), self._page.next_before)
        await self.page.refresh()

    def _row(self, row: SubmissionRow) -> dict[str, Any]:
        name = submission_id_of(row.uid)
        newest = next(iter(reversed(self._executions.get(row.uid, ()))), None)
        return {
            "key": name, "name": name, "href": places.submission(row.uid),
            "cells": [
                cells.mono(name, href=places.submission(row.uid)), state(row), cells.mono(row.job_id),
                cells.mono(row.workspace_id), node(row.node_name), _scheduled(newest),
                cells.since(row.accepted_at), cells.since(row.projected_at),
            ],
        }  # fmt: skip


def state(row: SubmissionRow) -> cells.Cell:
    """How a submission stands for the product, and why where it failed."""
    if row.failure is not None:
        return cells.state(row.projection_state, sub=str(row.failure.get("code") or ""))
    source = row.source_execution_state
    return cells.state(row.projection_state, sub="accepted" if source == "accepted" else None)


def node(name: str) -> cells.Cell:
    """A management node by its name, which leads to it."""
    return cells.mono(name, href=places.node(name))


def _scheduled(row: ExecutionRow | None) -> cells.Cell:
    if row is None:
        return cells.text(None, tone="quiet")
    again = f"execution {row.execution.number}" if row.execution.number > 1 else None
    if row.execution.slurm_job_id is None:
        return cells.text(
            "not submitted yet" if row.execution.state is None and row.execution.wanted else None,
            tone="quiet",
            sub=again,
        )
    return cells.mono(row.execution.slurm_job_id, sub=again)
