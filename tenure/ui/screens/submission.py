"""A submission: why it stands, its executions, what crossed the border, what was refused (S5; design 06, UI)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenure.engine.caller import Caller
from tenure.engine.reading import Standing
from tenure.model.fact import Fact
from tenure.model.roles import Permission
from tenure.remote.engine import reading
from tenure.remote.engine.remote import remote_of
from tenure.remote.model.names import queue_key_of, submission_id_of
from tenure.remote.rows import ExecutionRow, RefusalOf, SubmissionRow
from tenure.sdk import operations as ops
from tenure.store.operation import Op
from tenure.ui import cells, places
from tenure.ui.actions import on_subjects, on_submissions
from tenure.ui.actions.action import Action, button
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.properties import Properties
from tenure.ui.components.reasons import Reasons
from tenure.ui.components.section import block, section
from tenure.ui.components.timeline import Timeline
from tenure.ui.screen import Screen
from tenure.ui.screens import border
from tenure.ui.screens.paging import PAGE, Pages, ThreadPages
from tenure.ui.screens.subject import NOTHING_IN_THE_WAY, reason_told
from tenure.ui.screens.submissions import node
from tenure.ui.visitor import Visitor
from tenure.wording.values import age, shown

_NO_EXECUTION = {"title": "No execution yet", "text": "The node gets one as soon as it asks for work and this is next."}


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one look at a submission shows."""

    row: SubmissionRow
    executions: Sequence[ExecutionRow]
    results: Mapping[int, Mapping[str, Any]]
    standing: Standing
    facts: Sequence[Fact]
    refusals: Sequence[RefusalOf]


class SubmissionScreen(Screen):
    """Everything about one submission."""

    async def load(self) -> None:
        """The row, its executions, why its subject stands, a page of its thread and of what was refused."""
        self._thread: ThreadPages = getattr(self, "_thread", ThreadPages())
        self._refused: Pages[int] = getattr(self, "_refused", Pages())
        self._seen: _Seen = await self.visitor.read(self._read)
        self.title = submission_id_of(self._seen.row.uid)

    def _read(self, caller: Caller) -> Op[_Seen]:
        found = yield from reading.standing(caller, self.path["submission"])
        row = found.submission
        after, many = self._thread.window(row.seq)
        return _Seen(
            row=row, executions=found.executions, results=found.results, standing=(yield from ops.inspect(caller, row.subject)),
            facts=(yield from caller.store.facts(row.uid, after, many)),
            refusals=(yield from remote_of(caller).storage.refusals(
                caller.tenant, row.subject, PAGE + 1, self._refused.after
            )),
        )  # fmt: skip

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Its own facts, and those of the subject that stands for it."""
        own = (self._seen.row.uid, self._seen.row.subject)
        return any(fact.thread in own or fact.type.startswith("node.") for fact in facts)

    def build(self) -> None:
        """Why first, then its executions, then what it is, then what happened."""
        self._heading = Heading(title=self.title, mono=True, acts=[])
        self._heading.when("act", self._act)
        with block("tn-columns"):
            with block(""):
                with section("Why", card=True):
                    self._reasons = Reasons(reasons=[])
                with section("Result", card=True) as self._result_box:
                    self._result = Properties(fields=[])
                with section("Failure", card=True) as self._failure_box:
                    self._failure = Properties(fields=[])
            with block(""), section("Submission", card=True):
                self._about = Properties(fields=[])
        with section("Executions"):
            self._executions = Listing(
                label="Executions", columns=border.EXECUTIONS, rows=[], empty=_NO_EXECUTION, selected=[]
            )
        with section("Refused or repeated") as self._refused_box:
            self._refusals = Listing(
                label="What was refused or repeated, newest first",
                columns=border.REFUSALS,
                rows=[],
                empty=None,
                selected=[],
            )
            self._refusals.when("turn", self._turn_refusals)
        with block("tn-section"), block("tn-columns"):
            with block(""), section("What crossed the border", card=True):
                self._timeline = Timeline(label="What crossed the border, newest first", entries=[])
                self._timeline.when("turn", self._turn_thread)
            with block(""), section("Command", card=True):
                self._command = Properties(fields=[])

    def update(self) -> None:
        """Show what was read."""
        seen, row = self._seen, self._seen.row
        marks = [cells.state(row.projection_state), node(row.node_name)]
        if row.projection_round > 1:
            marks.append(cells.text(f"round {row.projection_round}"))
        self._heading.show(
            marks=marks, acts=self._buttons(), text=shown(row.display_message) if row.display_message else None,
            above={"href": places.SUBMISSIONS, "label": "Submissions"},
        )  # fmt: skip
        self._reasons.show(reasons=[reason_told(reason) for reason in seen.standing.reasons] or [NOTHING_IN_THE_WAY])
        self._executions.show(
            rows=[border.execution(each, seen.results.get(each.execution.number)) for each in reversed(seen.executions)]
        )
        self._result_box.set_visibility(row.result_ref is not None)
        self._result.show(fields=_told(row.result_ref or {}, {"output_uri": "Output", "metadata_uri": "Metadata"}))
        self._failure_box.set_visibility(row.failure is not None)
        self._failure.show(
            fields=_told(row.failure or {}, {"code": "Code", "message": "Message", "retryable": "Retryable"})
        )
        self._about.show(fields=_about(self.visitor, seen))
        self._command.show(fields=[{"label": "As it came first", "cell": cells.code(dict(row.command))}])
        refusals = self._refused.cut(seen.refusals)
        self._refused_box.set_visibility(bool(refusals) or self._refused.back)
        self._refusals.show(
            rows=[border.refusal(each) for each in refusals], back=self._refused.back, more=self._refused.more
        )
        self._timeline.show(entries=border.timeline(seen.facts), back=self._thread.back, more=self._thread.more)

    def _buttons(self) -> list[dict[str, Any]]:
        if self._seen.standing.situation.thread.envelope.terminal:
            return [button(self.visitor, "reopen", "Run again", Permission.ADMINISTER)]
        return [
            button(self.visitor, "requeue", "Requeue", Permission.OPERATE),
            button(self.visitor, "cancel", "Cancel", Permission.SUBMIT, tone="danger"),
        ]

    def _act(self, name: str) -> None:
        row = self._seen.row
        queue_key = queue_key_of(row.node_name)
        deeds: dict[str, Callable[[], Action]] = {
            "cancel": lambda: on_submissions.cancel(self.visitor, row.uid),
            "requeue": lambda: on_subjects.requeue(self.visitor, [row.subject], queue_key=queue_key, reopen=False),
            "reopen": lambda: on_subjects.requeue(self.visitor, [row.subject], queue_key=queue_key, reopen=True),
        }
        if name in deeds:
            self.page.ask(deeds[name]())

    async def _turn_thread(self, way: str) -> None:
        self._thread.leaf(str(way))
        await self.page.refresh()

    async def _turn_refusals(self, way: str) -> None:
        shown_now = self._seen.refusals[:PAGE]
        self._refused.turn(str(way), shown_now[-1].uid if shown_now else None)
        await self.page.refresh()


def _told(values: Mapping[str, Any], names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {"label": label, "cell": cells.text(values[name]) if name in ("message", "retryable") else cells.mono(values[name])}
        for name, label in names.items() if values.get(name) is not None
    ]  # fmt: skip


def _about(visitor: Visitor, seen: _Seen) -> list[dict[str, Any]]:
    row, command = seen.row, seen.row.command
    shape, profile = command.get("resource_shape") or {}, command.get("execution_profile") or {}
    payload, asked = command.get("payload_ref") or {}, command.get("requested_by") or {}
    placed = ", ".join(f"{name} {value}" for name, value in row.placement.items() if value)
    told = [
        ("Job", cells.mono(row.job_id)),
        ("Workspace", cells.mono(row.workspace_id)),
        ("Subject", cells.subject(row.subject, sub=str(seen.standing.situation.thread.envelope.state).lower().replace("_", " "))),
        ("Node", node(row.node_name)),
        ("Queue", cells.queue(queue_key_of(row.node_name))),
        ("Submitted", cells.since(row.accepted_at)),
        ("By", cells.mono(asked.get("user_id"))),
        ("Last moved", cells.since(row.projected_at)),
        ("Asked for", cells.text(f"{shape.get('cpu')} cores, {shape.get('memory_mib'):,} MiB, {age(shape.get('walltime_seconds'))}")
         if shape else None),
        ("Queue asked for", cells.mono(profile.get("queue_name"))),
        ("Placed", cells.text(placed or "the scheduler's defaults")),
        ("Input", cells.mono(payload.get("input_uri"))),
        ("Trace", cells.mono(row.trace_id)),
        ("Key", cells.mono(row.idempotency_key)),
    ]  # fmt: skip
    return [{"label": label, "cell": cell} for label, cell in told if cell is not None]
