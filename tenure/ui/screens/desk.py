"""A person's desk: what I hold and how long still, what it is about, and what I report (S1 sections 5.1 and 10.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenure.engine.caller import Caller
from tenure.engine.reading import Standing
from tenure.model import euid
from tenure.model.attempt import Attempt
from tenure.model.eligibility import refusal
from tenure.model.errors import TenureError
from tenure.model.queue import Queue
from tenure.model.roles import Permission
from tenure.model.states import LeaseStatus, WorkerStatus
from tenure.model.worker import Worker
from tenure.sdk import operations as ops
from tenure.store.operation import Op
from tenure.store.records import LeaseRow, QueueCounts
from tenure.ui import cells, desk, places
from tenure.ui.actions import on_desk
from tenure.ui.actions.action import Action, button
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.properties import Properties
from tenure.ui.components.section import block, section
from tenure.ui.screen import Screen
from tenure.wording.values import age

_HELD = [
    {"key": "subject", "label": "Subject", "align": "tight"},
    {"key": "queue", "label": "Queue"},
    {"key": "attempt", "label": "Attempt", "align": "right"},
    {"key": "left", "label": "Lease runs out"},
]
_QUEUES = [
    {"key": "queue", "label": "Queue"},
    {"key": "depth", "label": "Waiting", "align": "right"},
    {"key": "oldest", "label": "Oldest", "align": "right"},
    {"key": "why", "label": "For you"},
]


class Desk(Screen):
    """What the person holds, one piece of it in full, and the queues to take from."""

    title = "My desk"

    async def load(self) -> None:
        """The person's worker, its leases, the chosen subject, the queues."""
        self._worker, self._leases, self._chosen, self._queues = await self.visitor.read(self._read)
        self._counts = await self.visitor.counts([queue.queue_key for queue in self._queues])

    def _read(self, caller: Caller) -> Op[tuple[Worker | None, list[LeaseRow], Standing | None, list[Queue]]]:
        worker = yield from desk.worker_of(caller)
        if worker is not None and worker.status is not WorkerStatus.DISABLED and self.visitor.may(Permission.WORK):
            worker = yield from ops.heartbeat_worker(caller, worker, incarnation=worker.incarnation)
        held: list[LeaseRow] = []
        if worker is not None:
            held = yield from ops.leases(caller, LeaseStatus.ACTIVE, worker=worker, limit=desk.MAX_LEASES * 2)
        chosen = None
        if held:
            wanted = self.query.get("lease", "")
            row = next((r for r in held if euid.format_euid(euid.LEASE, r.attempt.uid) == wanted), held[0])
            chosen = yield from ops.inspect(caller, row.attempt.subject)
        queues = [queue for queue in (yield from ops.queues_all(caller)) if queue.operator_visible]
        return worker, held, chosen, queues

    def build(self) -> None:
        """What is before me, what else I hold, where to take from."""
        self._heading = Heading(title=self.title, acts=[])
        self._heading.when("act", lambda _: self._set_up())
        with block("tn-desk"):
            with block("tn-card tn-work") as self._work:
                self._subject = Heading(title="", level=2, acts=[])
                self._subject.when("act", self._act)
                self._facts = Properties(fields=[])
            with section("What I hold"):
                self._held = Listing(
                    label="What I hold", columns=_HELD, rows=[], empty=_NOTHING, walk=True, selected=[]
                )
            with section("Take from a queue"):
                self._offers = Listing(
                    label="Queues to take from", columns=_QUEUES, rows=[], empty=_NO_QUEUES, walk=False, selected=[]
                )
                self._offers.when("act", lambda act: on_desk.claim_at_once(self.page, act["key"]))

    def update(self) -> None:
        """Show what was read."""
        worker = self._worker
        set_up = button(self.visitor, "set-up", "Set up", Permission.WORK)
        marks = [cells.state(worker.status)] if worker is not None else []
        can = ", ".join(worker.capabilities) if worker is not None else ""
        self._heading.show(marks=marks, text=f"You can: {can}" if can else None, acts=[set_up])
        self._work.set_visibility(self._chosen is not None)
        if self._chosen is not None:
            self._show_work(self._chosen)
        self._held.show(rows=[self._lease(row) for row in self._leases])
        self._offers.show(rows=[self._offer(queue) for queue in self._queues])

    def _show_work(self, standing: Standing) -> None:
        attempt, subject, env = self._attempt(standing), standing.subject, standing.situation.thread.envelope
        acts = [
            button(self.visitor, name, label, Permission.WORK, tone=tone, letter=letter)
            for name, label, tone, letter in _ACTS
        ]
        self._subject.show(
            title=subject.name or subject.external_ref or euid.format_euid(euid.SUBJECT, subject.uid),
            marks=[cells.subject(subject.uid), cells.queue(env.next_queue_key), cells.state(env.state),
                   cells.until(attempt.expires_at, before="runs out")],
            acts=acts,
        )  # fmt: skip
        told = [
            ("Reference", cells.mono(subject.external_ref) if subject.external_ref else None),
            ("Action", cells.mono(env.next_action_key) if env.next_action_key else None),
            ("Attempt", cells.text(attempt.attempt_number)),
            ("Due", cells.until(env.due_at) if env.due_at else None),
            ("Payload", cells.mono(subject.payload_ref) if subject.payload_ref else None),
            ("Properties", cells.code(dict(subject.properties)) if subject.properties else None),
        ]
        self._facts.show(fields=[{"label": label, "cell": cell} for label, cell in told if cell is not None])

    def _attempt(self, standing: Standing) -> Attempt:
        mine = [row.attempt for row in self._leases if row.attempt.subject == standing.subject.uid]
        return mine[0]

    def _lease(self, row: LeaseRow) -> dict[str, Any]:
        attempt = row.attempt
        name = euid.format_euid(euid.LEASE, attempt.uid)
        href = f"{places.DESK}?lease={name}"
        here = self._chosen is not None and self._chosen.subject.uid == attempt.subject
        return {
            "key": name, "name": name, "href": href, "tone": "selected" if here else None,
            "cells": [
                cells.mono(euid.format_euid(euid.SUBJECT, attempt.subject), href=href), cells.queue(attempt.queue_key),
                cells.text(attempt.attempt_number), cells.until(attempt.expires_at),
            ],
        }  # fmt: skip

    def _offer(self, queue: Queue) -> dict[str, Any]:
        counts = self._counts.get(queue.queue_key, QueueCounts(queue.queue_key))
        why, text = self._refused(queue), "you can take it"
        if not counts.queue_depth:
            text = "nothing is waiting"
        acts = []
        if self.visitor.may(Permission.WORK):
            none = None if counts.queue_depth else "Nothing is waiting."
            acts = [{"name": "claim", "label": "Claim next", "refused": why or none}]
        return {
            "key": queue.queue_key, "name": queue.queue_key, "href": places.queue(queue.queue_key), "acts": acts,
            "cells": [
                cells.queue(queue.queue_key), cells.number(counts.queue_depth),
                cells.text(age(counts.oldest_job_age_seconds)),
                cells.text(why or text, tone="quiet" if why or not counts.queue_depth else None),
            ],
        }  # fmt: skip

    def _refused(self, queue: Queue) -> str | None:
        if not queue.enabled:
            return "The queue is disabled."
        if self._worker is None:
            return (
                None if not queue.required_worker_capabilities else "Set up your desk with the capabilities it needs."
            )
        no: TenureError | None = refusal(self._worker, queue, len(self._leases))
        return no.message if no is not None else None

    def _act(self, name: str) -> None:
        if self._chosen is None:
            return
        attempt = self._attempt(self._chosen)
        deeds: dict[str, Callable[[], Action]] = {
            "complete": lambda: on_desk.complete(self.visitor, attempt, [queue.queue_key for queue in self._queues]),
            "fail": lambda: on_desk.fail(self.visitor, attempt),
            "renew": lambda: on_desk.renew(self.visitor, attempt),
            "put-off": lambda: on_desk.put_off(self.visitor, attempt),
            "release": lambda: on_desk.release(self.visitor, attempt),
        }
        if name in deeds:
            self.page.ask(deeds[name]())

    def _set_up(self) -> None:
        self.page.ask(on_desk.register(self.visitor, self._worker, len(self._leases)))


_ACTS = (
    ("complete", "Complete", "primary", "e"), ("fail", "Report a failure", "danger", "f"), ("renew", "Renew", None, "n"),
    ("put-off", "Put off", None, None), ("release", "Give back", None, None),
)  # fmt: skip
_NOTHING = {
    "title": "You hold nothing",
    "text": "Take something from a queue below; it is yours until its lease runs out.",
}
_NO_QUEUES = {"title": "No queue is defined yet", "text": "As soon as there is one, you can take from it here."}
