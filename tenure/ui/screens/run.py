"""A run: why it stands, its graph live, each step with its subjects, what happened, and what can be done (design 06, UI)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tenure.flow.engine.overview import RunOverview
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
from tenure.ui.screens.subject import reason_told
from tenure.wording.values import NOTHING, listed, shown


class RunScreen(Screen):
    """Everything about one run."""

    async def load(self) -> None:
        """Snapshot, reasons, graph, timeline."""
        uid = parse_euid(self.path["euid"])
        self.title = euid.format_euid(euid.RUN, uid)
        self._step: str | None = getattr(self, "_step", self.query.get("step"))
        self._seen: RunOverview = await self.visitor.read(lambda caller: flow.overview_run(caller, uid, run_story.MOST))

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
                with section("History", card=True):
                    self._timeline = Timeline(label="History, newest first", entries=[])

    def update(self) -> None:
        """Show what was read."""
        seen, run = self._seen, self._seen.snapshot.run
        marks = [cells.state(run.status), cells.link(run.name, places.workflow(run.name, seen.snapshot.version))]
        marks += [cells.text(f"version {seen.snapshot.version}")]
        self._heading.show(
            marks=marks, acts=self._buttons(), text=f"Key {run.run_key}" if run.run_key else None,
            above={"href": places.RUNS, "label": "Runs"},
        )  # fmt: skip
        self._reasons.show(reasons=[_reason(reason) for reason in seen.reasons] or [_UNDER_WAY])
        step = run_story.chosen(seen.snapshot, self._step)
        node = next(node for node in seen.graph["nodes"] if node["id"] == step.step)
        self._graph.draw(seen.graph, step.step)
        self._head.show(title=step.step, marks=run_story.step_marks(step, node["state"] == "skipped"))
        self._told.show(fields=run_story.step_fields(step, node) or [_NOT_BEGUN])
        self._subjects.show(rows=run_story.subjects(step))
        self._subjects.set_visibility(bool(step.subjects))
        self._about.show(fields=_about(seen))
        self._children_box.set_visibility(bool(seen.snapshot.children))
        self._children.show(rows=[runs.row(child) for child in seen.snapshot.children[: run_story.MOST]])
        self._timeline.show(entries=run_story.timeline(seen.moments))

    def _choose(self, step: str) -> None:
        self._step = str(step)
        self.update()

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
        "evidence": [[n.replace("_", " "), w] for n, v in reason.evidence.items() if (w := _worded(v)) != NOTHING],
    }


def _worded(value: Any) -> str:
    if isinstance(value, dict) and value and not any(isinstance(each, dict | list) for each in value.values()):
        return ", ".join(f"{name.replace('_', ' ')} {shown(each)}" for name, each in value.items())
    return listed(value)


_UNDER_WAY = {
    "code": "nothing", "message": "Nothing is in its way.", "remedy": "Nothing has to be done.", "blocking": False,
    "evidence": [],
}  # fmt: skip
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
