"""One worker: how it stands, what it holds, what happened to it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tenure.engine import clock
from tenure.engine.caller import Caller
from tenure.model import euid
from tenure.model.errors import NotFound
from tenure.model.euid import parse_euid
from tenure.model.fact import Fact
from tenure.model.states import LeaseStatus
from tenure.model.worker import Worker
from tenure.sdk import operations as ops
from tenure.store.operation import Op
from tenure.store.records import LeaseRow
from tenure.ui import cells, places
from tenure.ui.actions import on_workers
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.components.properties import Properties
from tenure.ui.components.section import block, section
from tenure.ui.components.timeline import Timeline
from tenure.ui.screen import Screen
from tenure.ui.screens import leases, story
from tenure.ui.screens.paging import ThreadPages
from tenure.ui.screens.workers import about, buttons, scopes
from tenure.wording.values import age


class WorkerScreen(Screen):
    """Everything about one worker."""

    async def load(self) -> None:
        """The worker, its live leases, its facts."""
        self._pages: ThreadPages = getattr(self, "_pages", ThreadPages())
        self._worker, self._leases, self._facts, self._now = await self.visitor.read(self._read)
        self.title = self._worker.worker_key

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Its own facts, and those of the leases that it holds."""
        return any(self._worker.uid in (fact.thread, fact.worker) for fact in facts)

    def build(self) -> None:
        """How it stands, what it holds, its history."""
        self._heading = Heading(
            title=self.title, mono=True, above={"href": places.WORKERS, "label": "Workers"}, acts=[]
        )
        self._heading.when("act", lambda name: self.page.ask(on_workers.change(self.visitor, self._worker, name)))
        with section("Active leases") as box:
            box.classes(remove="tn-section")
            self._held = Listing(
                label="Active leases", columns=leases.COLUMNS, rows=[], walk=True, selected=[],
                empty={"title": "It holds nothing", "text": "What it claims is listed here."},
            )  # fmt: skip
            self._held.when("act", lambda act: leases.expire(self, self._leases, act["key"], self._now))
        with block("tn-section"), block("tn-columns"):
            with block(""), section("As it registered", card=True):
                self._spec = Properties(fields=[])
            with block(""), section("History", card=True):
                self._timeline = Timeline(label="History, newest first", entries=[])
                self._timeline.when("turn", self._turn)

    def update(self) -> None:
        """Show what was read."""
        worker = self._worker
        self._heading.show(
            marks=[cells.state(worker.effective_status(self._now)), cells.since(worker.heartbeat_at, before="last heartbeat")],
            text=about(worker), acts=buttons(self.visitor, worker, retire=True),
        )  # fmt: skip
        self._spec.show(fields=[{"label": label, "cell": cell} for label, cell in _spec(worker) if cell["text"] != "–"])
        keys = {worker.uid: worker.worker_key}
        self._held.show(rows=[leases.row(self.visitor, each, keys, self._now) for each in self._leases])
        self._timeline.show(
            entries=story.of_thread(self._facts, keys), back=self._pages.back, more=self._pages.more
        )  # fmt: skip

    def _read(self, caller: Caller) -> Op[tuple[Worker, list[LeaseRow], list[Fact], datetime]]:
        uid = parse_euid(self.path["euid"])
        worker = yield from caller.store.worker(caller.tenant, uid=uid)
        if worker is None:
            raise NotFound("There is no such worker.", "Check its EUID; what belongs to another tenant cannot be seen.")
        held = yield from ops.leases(caller, LeaseStatus.ACTIVE, worker=worker, limit=50)
        after, many = self._pages.window(worker.seq)
        facts = yield from ops.facts(caller, uid, after_seq=after, limit=many)
        return worker, held, facts, (yield from clock.now(caller))

    async def _turn(self, way: str) -> None:
        self._pages.leaf(str(way))
        await self.page.refresh()


def _spec(worker: Worker) -> list[tuple[str, Any]]:
    error = f"{worker.last_error_class or 'unknown'}" if worker.last_error_at else None
    return [
        ("Worker", cells.mono(euid.format_euid(euid.WORKER, worker.uid))),
        ("Type", cells.text(worker.worker_type.lower().replace("_", " "))),
        ("Capabilities", cells.text(", ".join(worker.capabilities))),
        ("Scopes", cells.text(scopes(worker))),
        ("At most", cells.text(f"{worker.max_concurrent_leases:,} leases at once")),
        ("Offline after", cells.text(age(worker.heartbeat_ttl_seconds))),
        ("Registrations", cells.text(worker.incarnation)),
        ("Host", cells.text(worker.host)),
        ("Process", cells.text(worker.process_identity)),
        ("Queues", cells.text(", ".join(worker.queues))),
        ("Tasks", cells.text(", ".join(worker.tasks))),
        ("Workflows", cells.text(", ".join(worker.workflows))),
        ("Build", cells.text(worker.build_version)),
        ("Disabled because", cells.text(worker.disabled_reason)),
        ("Last error", cells.text(error)),
    ]
