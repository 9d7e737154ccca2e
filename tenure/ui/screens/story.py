"""Timelines for screens: the wording of ``tenure.wording.timeline``, newest first, with the evidence to unfold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.model import fact_types as ft
from tenure.model.fact import Fact
from tenure.sdk.public_form import public
from tenure.store.records import History
from tenure.ui import cells
from tenure.ui.screens.paging import ThreadPages
from tenure.wording.timeline import REFUSED, Entry, entries, thread_entries
from tenure.wording.values import shown


def of_subject(history: History, workers: Mapping[int, str], pages: ThreadPages) -> list[dict[str, Any]]:
    """A page of a subject's history with the error of each failed attempt."""
    errors = {row.attempt.uid: row.error_message for row in history.attempts if row.error_message}
    told = entries(history, workers)
    first, many = pages.window(len(told))
    return [_entry(entry, errors) for entry in reversed(told[first : first + many])]


def of_thread(facts: Sequence[Fact], workers: Mapping[int, str]) -> list[dict[str, Any]]:
    """The facts of a worker or a queue."""
    return [_entry(entry, {}) for entry in reversed(thread_entries(facts, workers))]


def _entry(entry: Entry, errors: Mapping[int, str]) -> dict[str, Any]:
    fact = entry.fact
    error = errors.get(fact.lease) if fact is not None and fact.lease is not None and fact.type == ft.FAILED else None
    return {
        "key": f"{entry.seq}" if entry.seq is not None else f"r{entry.at.timestamp()}{entry.what}", "seq": entry.seq,
        "type": entry.type, "state": cells.state(entry.state) if entry.state else None,
        "what": shown(entry.what) if entry.what else "",
        "by": shown(entry.by) if entry.by else "", "at": cells.since(entry.at), "tone": _tone(entry),
        "error": shown(error) if error else None, "more": _more(fact),
    }  # fmt: skip


def _tone(entry: Entry) -> str | None:
    if entry.type == REFUSED:
        return "refused"
    if entry.type == ft.COMPLETED:
        return "done"
    known = ft.REGISTRY.get(entry.type)
    return "alert" if known is not None and known.severity else None


def _more(fact: Fact | None) -> dict[str, Any] | None:
    if fact is None:
        return None
    told: dict[str, Any] = public(fact)
    return {key: value for key, value in told.items() if value not in (None, {}, "") and key not in ("type", "state")}
