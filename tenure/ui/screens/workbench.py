"""Dead letters and holds: the list to work off, with reason and error, one by one or several at once (S1 section 10.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenure.engine.caller import Caller
from tenure.model import euid
from tenure.model.roles import Permission
from tenure.model.states import Resolution
from tenure.sdk import operations as ops
from tenure.store.operation import Op
from tenure.store.records import DeadLetterRow, HoldRow
from tenure.ui import cells, places
from tenure.ui.actions import on_subjects
from tenure.ui.actions.action import Action, button
from tenure.ui.components.filters import Filters, narrowed
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing, ticked
from tenure.ui.components.tabs import WORKBENCH, tabs
from tenure.ui.screen import Screen
from tenure.ui.screens.paging import PAGE, Pages

LETTERS, HOLDS = "dead-letters", "holds"
_COLUMNS = {
    LETTERS: [
        {"key": "subject", "label": "Subject", "align": "tight"}, {"key": "name", "label": "Name"},
        {"key": "queue", "label": "Queue"}, {"key": "error", "label": "Error"},
        {"key": "failures", "label": "Failures", "align": "right"}, {"key": "since", "label": "Since"},
    ],
    HOLDS: [
        {"key": "subject", "label": "Subject", "align": "tight"}, {"key": "name", "label": "Name"},
        {"key": "queue", "label": "Queue"}, {"key": "reason", "label": "Reason"}, {"key": "by", "label": "Placed by"},
        {"key": "since", "label": "Since"},
    ],
}  # fmt: skip
_EMPTY = {
    LETTERS: {
        "title": "No dead letter is open",
        "text": "What gives up after its last attempt comes here and waits for a decision.",
    },
    HOLDS: {
        "title": "Nothing is on hold",
        "text": "A hold stops a subject until somebody releases it. It is placed on the subject's page.",
    },
}


class Workbench(Screen):
    """What waits for a decision by a person."""

    title = "Workbench"

    async def load(self) -> None:
        """One page of dead letters or of holds."""
        self._view = HOLDS if self.query.get("view") == HOLDS else LETTERS
        self._pages: Pages[int] = getattr(self, "_pages", Pages())
        self._selected: set[str] = getattr(self, "_selected", set())
        self._chosen: dict[str, str] = getattr(self, "_chosen", {"queue": self.query.get("queue", "")})
        rows = await self.visitor.read(self._read)
        self._rows: list[Any] = self._pages.cut(rows)

    def _read(self, caller: Caller) -> Op[list[Any]]:
        self._queues = [queue.queue_key for queue in (yield from ops.queues_all(caller))]
        asked: dict[str, Any] = {
            "limit": PAGE + 1, "before": self._pages.after, "queue_key": self._chosen.get("queue") or None,
        }  # fmt: skip
        if self._view == HOLDS:
            return list((yield from ops.holds(caller, **asked)))
        return list((yield from ops.dead_letters(caller, **asked)))

    def build(self) -> None:
        """Two views, what can be done with the selected, the list."""
        self._heading = Heading(title=self.title, acts=[])
        self._heading.when("act", self._act)
        tabs("Workbench", WORKBENCH, places.workbench(self._view))
        self._filters = Filters(label="Narrow the list", fields=[], values={})
        self._filters.when("change", self._narrow)
        self._listing = Listing(
            label="Dead letters" if self._view == LETTERS else "Holds", columns=_COLUMNS[self._view], rows=[],
            empty=_EMPTY[self._view], walk=True, selectable=self.visitor.may(Permission.OPERATE), selected=[],
        )  # fmt: skip
        self._listing.when("select", self._select)
        self._listing.when("turn", self._turn)

    def update(self) -> None:
        """Show what was read; what is gone is not selected any more."""
        rows = [_letter(row) if self._view == LETTERS else _hold(row) for row in self._rows]
        options = [(key, key) for key in self._queues]
        self._filters.show(
            fields=[{"name": "queue", "label": "Queue", "options": options, "any": "all"}], values=self._chosen
        )
        self._selected &= {row["key"] for row in rows}
        self._listing.show(rows=rows, back=self._pages.back, more=self._pages.more, selected=sorted(self._selected))
        self._heading.show(acts=self._buttons())

    def _buttons(self) -> list[dict[str, Any]]:
        if not self._rows:
            return []
        count = len(self._selected)
        none = None if count else "Select at least one."
        suffix = f" {count}" if count > 1 else ""
        cancel = button(self.visitor, "cancel", f"Cancel{suffix}", Permission.OPERATE, unless=none, tone="danger")
        if self._view == HOLDS:
            return [
                button(self.visitor, "release", f"Release{suffix}", Permission.OPERATE, unless=none, tone="primary"),
                button(self.visitor, "requeue", f"Requeue{suffix}", Permission.OPERATE, unless=none), cancel,
            ]  # fmt: skip
        return [
            button(self.visitor, "reopen", f"Requeue{suffix}", Permission.ADMINISTER, unless=none, tone="primary"),
            button(self.visitor, "resolve", f"Resolve{suffix}", Permission.OPERATE, unless=none),
            button(self.visitor, "give-up", f"Cancel{suffix}", Permission.OPERATE, unless=none, tone="danger"),
        ]

    def _act(self, name: str) -> None:
        chosen = [row for row in self._rows if _key(row) in self._selected]
        subjects = [row.hold.subject if isinstance(row, HoldRow) else row.letter.subject for row in chosen]
        deeds: dict[str, Callable[[], Action]] = {
            "release": lambda: on_subjects.release_hold(self.visitor, [row.hold for row in chosen]),
            "requeue": lambda: on_subjects.requeue(self.visitor, subjects, queue_key=None, reopen=False),
            "reopen": lambda: on_subjects.requeue(self.visitor, subjects, queue_key=None, reopen=True),
            "resolve": lambda: on_subjects.resolve(self.visitor, subjects),
            "give-up": lambda: on_subjects.resolve(self.visitor, subjects, as_=Resolution.CANCELED),
            "cancel": lambda: on_subjects.cancel(self.visitor, subjects),
        }
        if chosen and name in deeds:
            self.page.ask(deeds[name]())

    async def _narrow(self, change: dict[str, Any]) -> None:
        self._chosen = narrowed(self._chosen, change)
        self._pages.restart()
        await self.page.refresh()

    def _select(self, change: dict[str, Any]) -> None:
        self._selected = ticked(self._selected, change)
        self.update()

    async def _turn(self, way: str) -> None:
        last = self._rows[-1] if self._rows else None
        self._pages.turn(str(way), int(_key(last)) if last is not None else None)
        await self.page.refresh()


def _key(row: DeadLetterRow | HoldRow) -> str:
    return str(row.hold.uid if isinstance(row, HoldRow) else row.letter.uid)


def _letter(row: DeadLetterRow) -> dict[str, Any]:
    letter = row.letter
    error = (
        row.error_message.strip().splitlines()[-1]
        if row.error_message and row.error_message.strip()
        else row.error_code
    )
    return {
        "key": _key(row), "name": euid.format_euid(euid.SUBJECT, letter.subject), "href": places.subject(letter.subject),
        "cells": [
            cells.subject(letter.subject), cells.text(row.name, sub=row.template), cells.queue(letter.queue_key),
            cells.text(error or letter.error_class, sub=letter.error_class if error else None),
            cells.text(letter.failure_count), cells.since(letter.dead_lettered_at),
        ],
    }  # fmt: skip


def _hold(row: HoldRow) -> dict[str, Any]:
    hold = row.hold
    return {
        "key": _key(row), "name": euid.format_euid(euid.SUBJECT, hold.subject), "href": places.subject(hold.subject),
        "cells": [
            cells.subject(hold.subject), cells.text(row.name), cells.queue(hold.queue_key),
            cells.text(hold.reason, sub=hold.hold_code), cells.text(hold.placed_by), cells.since(hold.placed_at),
        ],
    }  # fmt: skip
