"""What stands in a cell of a list or beside a name: plain data that the browser draws, escaped, always."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tenure.model import euid
from tenure.model.json_text import instant
from tenure.model.thread import FOREVER
from tenure.ui import places
from tenure.wording.values import NOTHING, moment, shown

Cell = dict[str, Any]


def text(value: Any, *, sub: str | None = None, tone: str | None = None, title: str | None = None) -> Cell:
    """Text, with a smaller line below it where ``sub`` is given."""
    return _cell(shown(value), sub=sub, tone=tone, title=title)


def mono(value: Any, *, href: str | None = None, sub: str | None = None) -> Cell:
    """An identifier or a key, in a face in which characters can be told apart."""
    return _cell(shown(value), kind="mono", href=href, sub=sub)


def number(value: float | None, *, href: str | None = None, tone: str | None = None) -> Cell:
    """A count with thousands set apart; a zero is quiet."""
    if value is None:
        return _cell(NOTHING, kind="number", tone="quiet")
    return _cell(f"{value:,.0f}", kind="number", href=href, tone=tone if value else "quiet")


def link(value: Any, href: str, *, sub: str | None = None) -> Cell:
    """Text that leads somewhere."""
    return _cell(shown(value), href=href, sub=sub)


def subject(uid: int, *, sub: str | None = None) -> Cell:
    """The EUID of a subject, which leads to it."""
    return mono(euid.format_euid(euid.SUBJECT, uid), href=places.subject(uid), sub=sub)


def worker(uid: int | None, keys: dict[int, str]) -> Cell:
    """A worker by its key, which leads to it."""
    if uid is None:
        return text(None)
    return mono(keys.get(uid, euid.format_euid(euid.WORKER, uid)), href=places.worker(uid))


def run(uid: int, *, sub: str | None = None, step: str | None = None) -> Cell:
    """The EUID of a run, which leads to it."""
    return mono(euid.format_euid(euid.RUN, uid), href=places.run(uid, step=step), sub=sub)


def queue(queue_key: str | None) -> Cell:
    """A queue by its key, which leads to it."""
    return mono(queue_key, href=places.queue(queue_key)) if queue_key else text(None)


def state(value: Any, *, sub: str | None = None) -> Cell:
    """A state or a status, in its colour and in words."""
    return _cell(str(value), kind="state", sub=sub)


def since(at: datetime | None, *, before: str | None = None) -> Cell:
    """How long ago, counted on by the browser; the time itself on hovering."""
    return _cell(moment(at), kind="since", at=instant(at), before=before) if at is not None else text(None)


def until(at: datetime | None, *, before: str | None = None) -> Cell:
    """How long until then, counted down by the browser; what never comes is said to be never."""
    if at is not None and at >= FOREVER:
        return text("never", tone="quiet")
    return _cell(moment(at), kind="until", at=instant(at), before=before) if at is not None else text(None)


def code(value: Any) -> Cell:
    """A value as JSON over several lines."""
    return _cell("", kind="code", data=value)


def _cell(words: str, **more: Any) -> Cell:
    return {"text": words} | {key: value for key, value in more.items() if value is not None}
