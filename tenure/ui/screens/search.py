"""What was found: by EUID, by reference, by name."""

from __future__ import annotations

from typing import Any

from tenure.engine.caller import Caller
from tenure.model import euid
from tenure.model.errors import InvalidEuid
from tenure.model.euid import parse_euid
from tenure.sdk import operations as ops
from tenure.store.operation import Op
from tenure.store.records import Subject
from tenure.ui import cells, places
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.screen import Screen

_COLUMNS = [
    {"key": "subject", "label": "Subject", "align": "tight"},
    {"key": "name", "label": "Name"},
    {"key": "ref", "label": "Reference"},
    {"key": "template", "label": "Template"},
    {"key": "created", "label": "Created"},
]


class Search(Screen):
    """Subjects for a text. An EUID, or a text that only one subject has, leads to it at once."""

    title = "Search"

    async def load(self) -> None:
        """Look the text up."""
        self._text = self.query.get("q", "").strip()
        self._found, self._worker = await self.visitor.read(lambda caller: _read(caller, self._text))

    def build(self) -> None:
        """What was found."""
        Heading(title=f"Found for “{self._text}”")
        empty = {
            "title": "Nothing was found",
            "text": "Give an EUID such as SX-1T8Z, the whole external reference, or the name.",
        }
        self._listing = Listing(label="Found", columns=_COLUMNS, rows=[], empty=empty, walk=True, selected=[])

    def update(self) -> None:
        """Show it."""
        self._listing.show(rows=[_row(subject) for subject in self._found])

    def elsewhere(self) -> str | None:
        """Where to go at once instead."""
        if self._worker is not None:
            return places.worker(self._worker)
        return places.subject(self._found[0].uid) if len(self._found) == 1 else None


def _read(caller: Caller, text: str) -> Op[tuple[list[Subject], int | None]]:
    uid = _uid(text)
    if uid is not None:
        subject = yield from caller.store.subject(caller.tenant, uid)
        if subject is not None:
            return [subject], None
        worker = yield from caller.store.worker(caller.tenant, uid=uid)
        if worker is not None:
            return [], worker.uid
    if not text:
        return [], None
    found = yield from ops.find_subject(caller, text)
    subject = (yield from caller.store.subject(caller.tenant, found)) if found is not None else None
    return [subject] if subject is not None else [], None


def _uid(text: str) -> int | None:
    try:
        return parse_euid(text)
    except InvalidEuid:
        return None


def _row(subject: Subject) -> dict[str, Any]:
    name = euid.format_euid(euid.SUBJECT, subject.uid)
    return {
        "key": name, "name": name, "href": places.subject(subject.uid),
        "cells": [cells.subject(subject.uid), cells.text(subject.name), cells.mono(subject.external_ref),
                  cells.mono(subject.template), cells.since(subject.created_at)],
    }  # fmt: skip
