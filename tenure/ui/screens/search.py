"""What was found: by EUID, by reference, by the beginning of the name, narrowed by state and queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenure.engine.caller import Caller
from tenure.flow.engine.flow import flow_of
from tenure.model import euid
from tenure.model.errors import InvalidEuid
from tenure.model.euid import parse_euid
from tenure.model.fact import Fact
from tenure.model.states import State
from tenure.remote.engine.remote import remote_of
from tenure.sdk import operations as ops
from tenure.store.operation import Op
from tenure.store.records import SubjectRow
from tenure.ui import cells, places
from tenure.ui.components.filters import Filters, narrowed
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.screen import Screen
from tenure.ui.screens.paging import PAGE, Pages

_COLUMNS = [
    {"key": "subject", "label": "Subject", "align": "tight"},
    {"key": "name", "label": "Name"},
    {"key": "ref", "label": "Reference"},
    {"key": "state", "label": "State"},
    {"key": "queue", "label": "Queue"},
    {"key": "created", "label": "Created"},
]
_STATES = [(str(state), str(state).lower().replace("_", " ")) for state in State]
_EMPTY = {
    "title": "Nothing was found",
    "text": "Give an EUID such as SX-1T8Z, the whole external reference, or how the name begins.",
}


@dataclass(frozen=True, slots=True)
class Found:
    """One page of what fits, and where to go at once where only one thing can be meant."""

    subjects: Sequence[SubjectRow]
    next_before: int | None
    elsewhere: str | None = None


class Search(Screen):
    """Subjects for a text. An EUID, or a reference, which only one subject has, leads to it at once."""

    title = "Search"

    async def load(self) -> None:
        """Look the text up."""
        self._pages: Pages[int] = getattr(self, "_pages", Pages())
        self._chosen: dict[str, str] = getattr(self, "_chosen", {})
        self._text = self.query.get("q", "").strip()
        self._found = await self.visitor.read(self._read)
        self._pages.more = self._found.next_before is not None

    def _read(self, caller: Caller) -> Op[Found]:
        text = self._text
        narrowing = any(self._chosen.values())
        if not narrowing and self._pages.after is None and (direct := (yield from _direct(caller, text))) is not None:
            return Found((), None, direct)
        if not narrowing and not text:
            return Found((), None)
        states = [State(self._chosen["state"])] if self._chosen.get("state") in list(State) else None
        page = yield from ops.find_subjects(
            caller, name=text or None, states=states, queue_key=self._chosen.get("queue") or None, limit=PAGE,
            before=self._pages.after,
        )  # fmt: skip
        return Found(page.subjects, page.next_before)

    def build(self) -> None:
        """What narrows the search, and what was found."""
        Heading(title=f"Found for “{self._text}”" if self._text else "Search")
        fields = [{"name": "state", "label": "State", "options": _STATES}, {"name": "queue", "label": "Queue"}]
        self._filters = Filters(label="Narrow the search", fields=fields, values={})
        self._filters.when("change", self._narrow)
        self._listing = Listing(label="Found", columns=_COLUMNS, rows=[], empty=_EMPTY, walk=True, selected=[])
        self._listing.when("turn", self._turn)

    def update(self) -> None:
        """Show it."""
        self._filters.show(values=self._chosen)
        self._listing.show(
            rows=[_row(subject) for subject in self._found.subjects], back=self._pages.back, more=self._pages.more
        )

    def elsewhere(self) -> str | None:
        """Where to go at once instead."""
        return self._found.elsewhere

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Only what it shows."""
        shown = {subject.envelope.uid for subject in self._found.subjects}
        return any(fact.thread in shown for fact in facts)

    async def _narrow(self, change: dict[str, Any]) -> None:
        self._chosen = narrowed(self._chosen, change)
        self._pages.restart()
        await self.page.refresh()

    async def _turn(self, way: str) -> None:
        self._pages.turn(str(way), self._found.next_before)
        await self.page.refresh()


def _direct(caller: Caller, text: str) -> Op[str | None]:
    try:
        uid = parse_euid(text)
    except InvalidEuid:
        uid = None
    if uid is not None:
        if (yield from caller.store.subject(caller.tenant, uid)) is not None:
            return places.subject(uid)
        if (yield from caller.store.worker(caller.tenant, uid=uid)) is not None:
            return places.worker(uid)
        if uid in (yield from flow_of(caller).storage.runs(caller.tenant, [uid])):
            return places.run(uid)
        if uid in (yield from remote_of(caller).storage.submissions(caller.tenant, [uid])):
            return places.submission(uid)
    found = (yield from ops.find_subject(caller, text)) if text else None
    return places.subject(found) if found is not None else None


def _row(subject: SubjectRow) -> dict[str, Any]:
    env = subject.envelope
    name = euid.format_euid(euid.SUBJECT, env.uid)
    return {
        "key": name, "name": name, "href": places.subject(env.uid),
        "cells": [
            cells.subject(env.uid), cells.text(subject.name), cells.mono(subject.external_ref), cells.state(env.state),
            cells.queue(env.next_queue_key), cells.since(env.created_at),
        ],
    }  # fmt: skip
