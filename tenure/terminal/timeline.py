"""A subject's history as a timeline: each fact with what it changed, and what was refused or asked again in between."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tenure.model import euid
from tenure.model.json_text import instant
from tenure.store.records import History
from tenure.terminal.wording import STATE_STYLES, clock, shown
from tenure.wording.timeline import REFUSED, Entry, entries, errors


def timeline(history: History, workers: Mapping[int, str], *, verbose: bool = False) -> list[RenderableType]:
    """The facts in order, what changed nothing among them, and the errors of failed attempts. ``verbose``: nothing is shortened."""
    name = euid.format_euid(euid.SUBJECT, history.subject.uid)
    title = Text(name, style="bold").append(f"  {shown(history.subject.name)}  {history.subject.template}", style="dim")
    told = entries(history, workers, verbose=verbose)
    days = sorted({instant(entry.at)[:10] for entry in told})
    title.append(f"  {days[0]}" if len(days) == 1 else f"  {days[0]} to {days[-1]}", style="dim")
    listed = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    listed.add_column("#", justify="right", no_wrap=True)
    for column in ("time (UTC)", "fact", "state"):
        listed.add_column(column, no_wrap=True)
    listed.add_column("what", overflow="fold")
    for entry in told:
        listed.add_row(*_row(entry, verbose))
    failures = [
        Text(f"attempt {number}: {text}", style="yellow") for number, text in errors(history.attempts, verbose=verbose)
    ]
    return [title, listed, *failures]


def _row(entry: Entry, verbose: bool) -> tuple[Text, ...]:
    return (
        Text(str(entry.seq) if entry.seq is not None else ""), Text(_time(entry.at, verbose)),
        Text(entry.type, style="yellow" if entry.type == REFUSED else ""),
        Text("" if entry.seq is None else shown(entry.state), style=STATE_STYLES.get(str(entry.state), "")), Text(entry.told),
    )  # fmt: skip


def _time(at: datetime, verbose: bool) -> str:
    return instant(at)[:23].replace("T", " ") if verbose else clock(at)[:8]
