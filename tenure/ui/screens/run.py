"""A run: why it stands, its graph live, each step with its subjects, what happened, and what can be done (design 06, UI)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tenure.flow.engine.overview import RunOverview, RunPages
from tenure.model import euid
from tenure.model.euid import parse_euid
from tenure.model.fact import Fact
from tenure.model.roles import Permission
from tenure.model.visibility import Reason
from tenure.sdk import runs as flow
from tenure.ui import cells, places
from tenure.ui.actions import on_runs
from tenure.ui.actions.action import Action, button
from tenure.ui.components.graph import Graph
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.properties import Properties
from tenure.ui.components.reasons import Reasons
from tenure.ui.components.section import block, section
from tenure.ui.components.timeline import Timeline
from tenure.ui.screen import Screen
from tenure.ui.screens import approvals, run_story, runs
from tenure.ui.screens.paging import Pages
from tenure.ui.screens.subject import NOTHING_IN_THE_WAY, reason_told
from tenure.wording.values import NOTHING, listed, to_the_second


class RunScreen(Screen):
    """Everything about one run."""

    async def load(self) -> None:
        """Snapshot, reasons, graph, timeline."""
        uid = parse_euid(self.path["euid"])
        self.title = euid.format_euid(euid.RUN, uid)
        self._step: str | None = getattr(self, "_step", self.query.get("step"))
        self._moments: Pages[int] = getattr(self, "_moments", Pages())
        self._items: Pages[int] = getattr(self, "_items", Pages(run_story.PART))
        self._offspring: Pages[int] = getattr(self, "_offspring", Pages(run_story.PART))
        skipped = {self._step: self._items.after or 0} if self._step is not None else {}
        pages = RunPages(self._moments.after, skipped, self._offspring.after or 0)
        self._seen: RunOverview = await self.visitor.read(
            lambda caller: flow.overview_run(caller, uid, run_story.PART + 1, pages)
        )

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Its own facts, those of its children, and of the subjects that stand for its steps."""
        snapshot = self._seen.snapshot
        threads = {snapshot.run.uid, *(child.uid for child in snapshot.children)}
        threads |= {subject.subject for step in snapshot.steps for subject in step.subjects}
        return any(fact.thread in threads for fact in facts)

    def build(self) -> None:
        """Why first, then the graph and the step before the reader, then what happened."""
        self._heading = Heading(title=self.title, mono=True, acts=[])
        self._heading.when("act", self._act)
        with block("tn-columns"):
            with block(""):
                with section("Why", card=True):
                    self._reasons = Reasons(reasons=[])
                with section("Graph", card=True):
                    self._graph = Graph(label="Graph of the run")
                    self._graph.when("choose", self._choose)
                with section("Run", card=True):
                    self._about = Properties(fields=[])
                with section("Child runs") as self._children_box:
                    self._children_box.classes(remove="tn-section")
                    self._children = Listing(
                        label="Child runs", columns=runs.COLUMNS, rows=[], empty=None, walk=False, selected=[]
                    )
                    self._children.when("turn", self._turn_children)
            with block(""):
                with block("tn-card tn-detail"):
                    self._head = Heading(title="", level=2)
                    self._told = Properties(fields=[])
                self._subjects = Listing(
                    label="Subjects of the step",
                    columns=run_story.SUBJECTS,
                    rows=[],
                    empty=None,
                    walk=True,
                    selected=[],
                )
                self._subjects.when("turn", self._turn_items)
                with section("History", card=True):
                    self._timeline = Timeline(label="History, newest first", entries=[])
                    self._timeline.when("turn", self._turn_moments)

    def update(self) -> None:
        """Show what was read."""
        seen, run = self._seen, self._seen.snapshot.run
        marks = [cells.state(run.status), cells.link(run.name, places.workflow(run.name, seen.snapshot.version))]
        marks += [cells.text(f"version {seen.snapshot.version}")]
        self._heading.show(
            marks=marks, acts=self._buttons(), text=f"Key {run.run_key}" if run.run_key else None,
            above={"href": places.RUNS, "label": "Runs"},
        )  # fmt: skip
        self._reasons.show(reasons=[_reason(reason) for reason in seen.reasons] or [NOTHING_IN_THE_WAY])
        step = run_story.chosen(seen.snapshot, self._step)
        node = next(node for node in seen.graph["nodes"] if node["id"] == step.step)
        self._graph.draw(seen.graph, step.step)
        self._head.show(title=step.step, marks=run_story.step_marks(step, node["state"] == "skipped"))
        self._told.show(fields=run_story.step_fields(step, node) or [_NOT_BEGUN])
        self._items.more = len(step.subjects) > run_story.PART
        self._subjects.show(rows=run_story.subjects(step), back=self._items.back, more=self._items.more)
        self._subjects.set_visibility(bool(step.subjects) or self._items.back)
        self._about.show(fields=_about(seen))
        children = self._offspring.cut(seen.snapshot.children)
        self._children_box.set_visibility(bool(children) or self._offspring.back)
        self._children.show(
            rows=[runs.row(child) for child in children], back=self._offspring.back, more=self._offspring.more
        )
        self._moments.more = bool(seen.moments) and seen.moments[0].seq > 1
        self._timeline.show(
            entries=run_story.timeline(seen.moments), back=self._moments.back, more=self._moments.more
        )  # fmt: skip

    async def _choose(self, step: str) -> None:
        turned, self._step = self._items.back, str(step)
        self._items.restart()
        if turned:
            await self.page.refresh()
        else:
            self.update()

    async def _turn_items(self, way: str) -> None:
        self._step = run_story.chosen(self._seen.snapshot, self._step).step
        self._items.turn(str(way), (self._items.after or 0) + run_story.PART)
        await self.page.refresh()

    async def _turn_children(self, way: str) -> None:
        shown_now = self._seen.snapshot.children[: run_story.PART]
        self._offspring.turn(str(way), shown_now[-1].uid if shown_now else None)
        await self.page.refresh()

    async def _turn_moments(self, way: str) -> None:
        moments = self._seen.moments
        self._moments.turn(str(way), moments[0].seq if moments else None)
        await self.page.refresh()

    def _buttons(self) -> list[dict[str, Any]]:
        snapshot = self._seen.snapshot
        if snapshot.end is not None:
            again = button(self.visitor, "replay", "Replay", Permission.OPERATE)
            if snapshot.run.status == "COMPLETED":
                return [again]
            return [button(self.visitor, "retry", "Retry", Permission.OPERATE, tone="primary"), again]
        here = (snapshot.run.boundary or {}).get("step")
        approvers = next((node["approvers"] for node in self._seen.graph["nodes"] if node["id"] == here), ())
        acts = [] if snapshot.paused else approvals.buttons(self, snapshot.run, approvers)
        if acts:
            acts[0]["tone"] = "primary"
        whole = ("resume-all", "Resume") if snapshot.paused else ("pause", "Pause")
        stopping = "It comes to a stop already." if snapshot.stop is not None else None
        return [
            *acts, button(self.visitor, *whole, Permission.OPERATE, unless=stopping),
            button(self.visitor, "signal", "Signal", Permission.OPERATE, unless=stopping),
            button(self.visitor, "cancel", "Cancel", Permission.OPERATE, unless=stopping, tone="danger"),
        ]  # fmt: skip

    def _act(self, name: str) -> None:
        snapshot, visitor = self._seen.snapshot, self.visitor
        uid, end = snapshot.run.uid, snapshot.end or {}
        steps = tuple(step.step for step in snapshot.steps if step.planned_at is not None)
        awaited = tuple(step.signal for step in snapshot.steps if step.signal and step.phase == "active")
        deeds: dict[str, Callable[[], Action]] = {
            "pause": lambda: on_runs.pause(visitor, uid),
            "resume-all": lambda: on_runs.resume(visitor, uid, None),
            "signal": lambda: on_runs.signal(visitor, uid, awaited),
            "cancel": lambda: on_runs.cancel(visitor, uid),
            "retry": lambda: on_runs.retry(visitor, uid, end.get("step"), steps),
            "replay": lambda: on_runs.replay(visitor, uid),
        }
        if name in deeds:
            self.page.ask(deeds[name]())
        else:
            here = snapshot.run.boundary or {}
            asks = next((n["description"] for n in self._seen.graph["nodes"] if n["id"] == here.get("step")), None)
            approvals.ask(self, name, snapshot.run, asks)


def _reason(reason: Reason) -> dict[str, Any]:
    told = reason_told(reason)
    failed = reason.code == "run_ended" and reason.evidence.get("status") == "FAILED"
    return told | {
        "blocking": reason.blocking or failed,
        "evidence": [
            [n.replace("_", " "), w] for n, v in reason.evidence.items() if (w := to_the_second(listed(v))) != NOTHING
        ],
    }


_NOT_BEGUN = {"label": "Planned", "cell": cells.text("not yet")}


def _about(seen: RunOverview) -> list[dict[str, Any]]:
    snapshot, run = seen.snapshot, seen.snapshot.run
    parent = snapshot.parent or {}
    told = [
        ("Started", cells.since(run.started_at)),
        ("Ended", cells.since(run.ended_at) if run.ended_at else None),
        ("Part of", cells.run(run.parent_run, sub=run.parent_runnable or parent.get("runnable"))
         if run.parent_run is not None else None),
        ("About", cells.subject(run.root) if run.root is not None else None),
        ("Replay of", cells.run(snapshot.replay_of) if snapshot.replay_of is not None else None),
        ("Retry of", cells.run(snapshot.retry_of) if snapshot.retry_of is not None else None),
        ("Correlation", cells.mono(run.correlation_id) if run.correlation_id else None),
        ("Signals that wait", cells.text(", ".join(snapshot.signals)) if snapshot.signals else None),
        ("Facts", cells.text(run.seq)),
        ("Facts that do not fit", cells.text(len(snapshot.anomalies), tone="bad") if snapshot.anomalies else None),
        ("Input", cells.code(run.input)),
        ("Output", cells.code(run.output) if run.ended_at is not None else None),
    ]  # fmt: skip
    return [{"label": label, "cell": cell} for label, cell in told if cell is not None]
