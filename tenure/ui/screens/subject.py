"""Subject inspector: envelope, visibility with its reasons, lease, holds, history, lineage, dead letter (S1 section 10.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tenure.engine.caller import Caller
from tenure.engine.reading import Standing
from tenure.model import euid
from tenure.model.euid import parse_euid
from tenure.model.fact import Fact
from tenure.model.roles import Permission
from tenure.model.visibility import Reason
from tenure.remote.engine.remote import remote_of
from tenure.remote.model.names import TEMPLATE, submission_id_of
from tenure.sdk import operations as ops
from tenure.sdk import runs as flow
from tenure.store.operation import Op
from tenure.store.records import Edge, History
from tenure.ui import cells, places
from tenure.ui.actions import on_desk, on_subjects, on_workers
from tenure.ui.actions.action import Action, button
from tenure.ui.components.heading import Heading
from tenure.ui.components.lineage import Lineage
from tenure.ui.components.listing import Listing
from tenure.ui.components.properties import Properties
from tenure.ui.components.reasons import Reasons
from tenure.ui.components.section import block, section
from tenure.ui.components.timeline import Timeline
from tenure.ui.screen import Screen
from tenure.ui.screens import family, story
from tenure.ui.screens.paging import ThreadPages
from tenure.wording.values import listed, shown, to_the_second

_LEASES = [
    {"key": "lease", "label": "Lease"}, {"key": "worker", "label": "Worker"},
    {"key": "attempt", "label": "Attempt", "align": "right"}, {"key": "out", "label": "Runs out"},
]  # fmt: skip
_HOLDS = [
    {"key": "hold", "label": "Hold"}, {"key": "code", "label": "Code"}, {"key": "reason", "label": "Reason"},
    {"key": "by", "label": "Placed"},
]  # fmt: skip


class SubjectScreen(Screen):
    """Everything about one subject."""

    async def load(self) -> None:
        """Where it stands with the reasons, its history, its relatives."""
        uid = parse_euid(self.path["euid"])
        self._pages: ThreadPages = getattr(self, "_pages", ThreadPages())
        self.title = euid.format_euid(euid.SUBJECT, uid)
        self._standing, self._history, self._edges, self._keys = await self.visitor.read(lambda c: _read(c, uid))
        self._submission: int | None = None
        if self._standing.subject.template == TEMPLATE:
            self._submission = await self.visitor.read(lambda c: _submission_of(c, uid))
        part = self._standing.situation.thread.in_run
        self._runnable = await self.visitor.read(lambda c: flow.runnable_of(c, uid)) if part else None

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Its own facts, and whatever happens to workers."""
        return any(fact.thread == self._standing.subject.uid or fact.type.startswith("worker.") for fact in facts)

    def build(self) -> None:
        """Why first, then what it is, then what happened."""
        self._heading = Heading(title=self.title, mono=True, acts=[])
        self._heading.when("act", self._act)
        with block("tn-columns"):
            with block(""):
                with section("Why", card=True):
                    self._reasons = Reasons(reasons=[])
                with section("Execution envelope", card=True):
                    self._envelope = Properties(fields=[])
                with section("Lineage", card=True):
                    self._lineage = Lineage(nodes=[], edges=[], label="Lineage of the subject")
                with section("Data", card=True):
                    self._data = Properties(fields=[])
            with block(""):
                with section("Dead letter", card=True) as self._letter_box:
                    self._letter = Properties(fields=[])
                with section("Active lease", card=False) as self._lease_box:
                    self._lease_box.classes(remove="tn-section")
                    self._leases = Listing(label="Active lease", columns=_LEASES, rows=[], empty=None, selected=[])
                    self._leases.when("act", lambda act: self._expire(act["key"]))
                with section("Holds", card=False) as self._hold_box:
                    self._hold_box.classes(remove="tn-section")
                    self._holds = Listing(label="Active holds", columns=_HOLDS, rows=[], empty=None, selected=[])
                    self._holds.when("act", lambda act: self._release(act["key"]))
                with section("History", card=True):
                    self._timeline = Timeline(label="History, newest first", entries=[])
                    self._timeline.when("turn", self._turn)

    def update(self) -> None:
        """Show what was read."""
        standing, thread = self._standing, self._standing.situation.thread
        env, subject = thread.envelope, standing.subject
        marks = [cells.state(env.state)]
        visible = not any(reason.blocking for reason in standing.reasons)
        marks.append(cells.text("visible in its queue" if visible else "not visible in a queue"))
        marks += [cells.queue(env.next_queue_key)] if env.next_queue_key else []
        if (part := self._runnable) is not None:
            name = euid.format_euid(euid.RUN, part.run)
            marks.append(cells.link(f"step {part.step} of run {name}", places.run(part.run, step=part.step)))
        if (submission := self._submission) is not None:
            marks.append(cells.link(f"submission {submission_id_of(submission)}", places.submission(submission)))
        self._heading.show(
            marks=marks, acts=self._buttons(), text=" · ".join(t for t in (subject.name, subject.external_ref) if t) or None,
            above={"href": places.queue(env.next_queue_key), "label": env.next_queue_key}
            if env.next_queue_key else {"href": places.DASHBOARD, "label": "Queues"},
        )  # fmt: skip
        self._reasons.show(reasons=[reason_told(reason) for reason in standing.reasons] or [NOTHING_IN_THE_WAY])
        self._envelope.show(fields=_envelope(standing))
        self._data.show(fields=_data(standing))
        nodes, edges = family.tree(self._edges, self._history.thread, self._keys)
        self._lineage.show(nodes=nodes, edges=edges)
        letter = thread.open_dead_letter
        self._letter_box.set_visibility(letter is not None)
        if letter is not None:
            error = next(
                (row.error_message for row in self._history.attempts if row.attempt.uid == letter.attempt), None
            )
            self._letter.show(fields=_letter(letter, error))
        self._lease_box.set_visibility(bool(thread.live_attempts))
        self._leases.show(rows=[self._lease(attempt) for attempt in thread.live_attempts])
        self._hold_box.set_visibility(bool(thread.active_holds))
        self._holds.show(rows=[self._hold(hold) for hold in thread.active_holds])
        self._timeline.show(
            entries=story.of_subject(self._history, self._keys, self._pages), back=self._pages.back, more=self._pages.more
        )  # fmt: skip

    def _turn(self, way: str) -> None:
        self._pages.leaf(str(way))
        self.update()

    def _buttons(self) -> list[dict[str, Any]]:
        thread = self._standing.situation.thread
        env, queue = thread.envelope, self._standing.situation.queue
        visible = not any(reason.blocking for reason in self._standing.reasons)
        acts = []
        if visible and queue is not None:
            acts.append(button(self.visitor, "claim", "Claim", Permission.WORK, tone="primary", letter="c"))
        if thread.active_holds:
            acts.append(button(self.visitor, "release", "Release hold", Permission.OPERATE))
        if not env.terminal:
            acts += [
                button(self.visitor, "hold", "Hold", Permission.OPERATE, letter="h"),
                button(self.visitor, "requeue", "Requeue", Permission.OPERATE, letter="r"),
                button(self.visitor, "cancel", "Cancel", Permission.OPERATE, tone="danger"),
            ]
            return acts
        if thread.open_dead_letter is not None:
            acts.append(button(self.visitor, "resolve", "Resolve dead letter", Permission.OPERATE))
        return [*acts, button(self.visitor, "reopen", "Reopen", Permission.ADMINISTER, letter="r")]

    async def _act(self, name: str) -> None:
        standing = self._standing
        uid, thread, queue = standing.subject.uid, standing.situation.thread, standing.situation.queue
        if name == "claim" and queue is not None:
            await on_desk.claim_at_once(self.page, queue.queue_key, uid)
            return
        queue_key = thread.envelope.next_queue_key
        deeds: dict[str, Callable[[], Action]] = {
            "hold": lambda: on_subjects.hold(self.visitor, [uid]),
            "release": lambda: on_subjects.release_hold(self.visitor, thread.active_holds[:1]),
            "requeue": lambda: on_subjects.requeue(self.visitor, [uid], queue_key=queue_key, reopen=False),
            "reopen": lambda: on_subjects.requeue(self.visitor, [uid], queue_key=queue_key, reopen=True),
            "cancel": lambda: on_subjects.cancel(self.visitor, [uid]),
            "resolve": lambda: on_subjects.resolve(self.visitor, [uid]),
        }
        if name in deeds:
            self.page.ask(deeds[name]())

    def _release(self, key: str) -> None:
        chosen = [hold for hold in self._standing.situation.thread.active_holds if str(hold.uid) == key]
        if chosen:
            self.page.ask(on_subjects.release_hold(self.visitor, chosen))

    def _expire(self, key: str) -> None:
        for attempt in self._standing.situation.thread.live_attempts:
            if str(attempt.uid) == key:
                live = not attempt.expired(self._standing.now)
                self.page.ask(on_workers.expire_lease(self.visitor, attempt.uid, live=live))

    def _lease(self, attempt: Any) -> dict[str, Any]:
        name = euid.format_euid(euid.LEASE, attempt.uid)
        acts = [button(self.visitor, "expire", "Expire", Permission.ADMINISTER, tone="danger")]
        return {
            "key": str(attempt.uid), "name": name, "acts": acts,
            "cells": [cells.mono(name), cells.worker(attempt.worker, self._keys), cells.text(attempt.attempt_number),
                      cells.until(attempt.expires_at)],
        }  # fmt: skip

    def _hold(self, hold: Any) -> dict[str, Any]:
        name = euid.format_euid(euid.HOLD, hold.uid)
        return {
            "key": str(hold.uid), "name": name,
            "acts": [button(self.visitor, "release", "Release", Permission.OPERATE)],
            "cells": [cells.mono(name), cells.mono(hold.hold_code), cells.text(hold.reason),
                      cells.since(hold.placed_at) | {"sub": f"by {hold.placed_by}"}],
        }  # fmt: skip


def _read(caller: Caller, uid: int) -> Op[tuple[Standing, History, list[Edge], dict[int, str]]]:
    standing = yield from ops.inspect(caller, uid)
    history = yield from ops.history(caller, uid)
    edges = yield from ops.lineage(caller, uid)
    keys = {worker.uid: worker.worker_key for worker in standing.situation.workers}
    return standing, history, edges, keys


def _submission_of(caller: Caller, uid: int) -> Op[int | None]:
    found = (yield from remote_of(caller).storage.submissions_of(caller.tenant, [uid])).get(uid)
    return found.uid if found is not None else None


NOTHING_IN_THE_WAY: dict[str, Any] = {
    "code": "nothing", "message": "Nothing is in its way.", "remedy": "Nothing has to be done.", "blocking": False,
    "evidence": [],
}  # fmt: skip
"""What stands where reasons would stand, if there were any."""


def reason_told(reason: Reason) -> dict[str, Any]:
    """A reason as the component shows it."""
    return {
        "code": reason.code, "message": to_the_second(shown(reason.message)), "remedy": shown(reason.remedy),
        "blocking": reason.blocking,
        "evidence": [[name.replace("_", " "), to_the_second(listed(value))] for name, value in reason.evidence.items()],
    }  # fmt: skip


def _barred(standing: Standing) -> str:
    """Who did it before, and does not do it again."""
    env = standing.situation.thread.envelope
    keys = {worker.uid: worker.worker_key for worker in standing.situation.workers}
    workers = [keys.get(uid, euid.format_euid(euid.WORKER, uid)) for uid in env.barred_workers]
    return ", ".join(workers + [euid.format_euid(euid.PRINCIPAL, uid) for uid in env.barred_principals])


def _fields(told: list[tuple[str, cells.Cell | None]]) -> list[dict[str, Any]]:
    return [{"label": label, "cell": cell} for label, cell in told if cell is not None]


def _envelope(standing: Standing) -> list[dict[str, Any]]:
    env = standing.situation.thread.envelope
    limit = env.max_attempts_override or (
        standing.situation.queue.max_attempts_default if standing.situation.queue else None
    )
    return _fields([
        ("State", cells.state(env.state)),
        ("Next queue", cells.queue(env.next_queue_key)),
        ("Next action", cells.mono(env.next_action_key) if env.next_action_key else None),
        ("Priority", cells.text(env.priority)),
        ("Attempts", cells.text(f"{env.attempt_count} of {limit}" if limit else env.attempt_count)),
        ("Ready", cells.since(env.ready_at) if env.ready_at else None),
        ("Retry", cells.until(env.retry_at) if env.retry_at else None),
        ("Due", cells.until(env.due_at) if env.due_at else None),
        ("Slots", cells.text(f"{env.slots_free} free, {env.slots_done} done of {env.slots_total}") if env.shared else None),
        ("Not for", cells.text(_barred(standing)) if env.barred_workers or env.barred_principals else None),
        ("Hold", cells.text(str(env.hold_state).lower().replace("_", " "))),
        ("Cancel requested", cells.text(env.cancel_requested) if env.cancel_requested else None),
        ("Site", cells.text(env.site) if env.site else None),
        ("Platform", cells.text(env.platform) if env.platform else None),
        ("Assay", cells.text(env.assay) if env.assay else None),
        ("Created", cells.since(env.created_at)),
        ("Revision", cells.text(env.revision)),
        ("Facts", cells.text(env.seq)),
    ])  # fmt: skip


def _data(standing: Standing) -> list[dict[str, Any]]:
    subject = standing.subject
    return _fields([
        ("Template", cells.mono(subject.template)),
        ("Name", cells.text(subject.name) if subject.name else None),
        ("Reference", cells.mono(subject.external_ref) if subject.external_ref else None),
        ("Correlation", cells.mono(subject.correlation_id) if subject.correlation_id else None),
        ("Payload", cells.mono(subject.payload_ref) if subject.payload_ref else None),
        ("Properties", cells.code(dict(subject.properties)) if subject.properties else None),
    ])  # fmt: skip


def _letter(letter: Any, error: str | None) -> list[dict[str, Any]]:
    return _fields([
        ("Letter", cells.mono(euid.format_euid(euid.DEAD_LETTER, letter.uid))),
        ("Error class", cells.mono(letter.error_class)),
        ("Failures", cells.text(letter.failure_count)),
        ("Since", cells.since(letter.dead_lettered_at)),
        ("Last error", cells.code(error) if error else None),
    ])  # fmt: skip
