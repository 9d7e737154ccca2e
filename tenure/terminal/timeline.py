"""A subject's history as a timeline: each fact with what it changed, and what was refused in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tenure.model import euid
from tenure.model import fact_types as ft
from tenure.model.fact import Fact
from tenure.model.json_text import instant
from tenure.store.records import History, LeaseRow, RefusalRow
from tenure.terminal.wording import STATE_STYLES, clock, shown


def timeline(history: History, workers: Mapping[int, str], *, verbose: bool = False) -> list[RenderableType]:
    """The facts in order, refusals among them, and the errors of failed attempts. ``verbose``: nothing is shortened."""
    name = euid.format_euid(euid.SUBJECT, history.subject.uid)
    title = Text(name, style="bold").append(f"  {shown(history.subject.name)}  {history.subject.template}", style="dim")
    entries = [(group[0].at, group[0].seq, _row(group, workers, verbose)) for group in _grouped(history.facts, verbose)]
    entries += [(refusal.at, 2**62, _refusal_row(refusal, verbose)) for refusal in history.refusals]
    entries.sort(key=lambda entry: entry[:2])
    days = sorted({instant(at)[:10] for at, _, _ in entries})
    title.append(f"  {days[0]}" if len(days) == 1 else f"  {days[0]} to {days[-1]}", style="dim")
    listed = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    listed.add_column("#", justify="right", no_wrap=True)
    for column in ("time (UTC)", "fact", "state"):
        listed.add_column(column, no_wrap=True)
    listed.add_column("what", overflow="fold")
    for _, _, cells in entries:
        listed.add_row(*cells)
    return [title, listed, *_errors(history.attempts, verbose)]


def _grouped(facts: Sequence[Fact], verbose: bool) -> Iterator[list[Fact]]:
    """Renewals that follow one another are one entry: a long piece of work has hundreds."""
    for renewals, group in groupby(facts, key=lambda fact: fact.type == ft.RENEWED):
        if renewals and not verbose:
            yield list(group)
        else:
            yield from ([fact] for fact in group)


def _row(group: Sequence[Fact], workers: Mapping[int, str], verbose: bool) -> tuple[Text, ...]:
    fact = group[-1]
    state = Text(shown(fact.state), style=STATE_STYLES.get(str(fact.state), ""))
    what = f"{len(group)} times" if len(group) > 1 else _what(fact, workers)
    by = (
        ""
        if fact.worker is not None and fact.actor.startswith("worker:") and fact.type != ft.EXPIRED
        else f"by {fact.actor}"
    )
    told = ", ".join(part for part in (what, by) if part)
    return Text(str(fact.seq)), Text(_time(fact.at, verbose)), Text(fact.type), state, Text(shown(told))


def _refusal_row(refusal: RefusalRow, verbose: bool) -> tuple[Text, ...]:
    refused = refusal.refused
    told = f"{refused.action}: {refused.code}, by {refused.actor}"
    return Text(""), Text(_time(refusal.at, verbose)), Text("refused", style="yellow"), Text(""), Text(shown(told))


def _time(at: datetime, verbose: bool) -> str:
    return instant(at)[:23].replace("T", " ") if verbose else clock(at)[:8]


def _what(fact: Fact, workers: Mapping[int, str]) -> str:
    data = fact.data or {}
    said: list[str] = []
    if fact.type in (ft.SUBMITTED, ft.REQUEUED, ft.COMPLETED) and fact.queue_key:
        said.append(f"{'→' if fact.type != ft.COMPLETED or fact.state == 'READY' else 'in'} {fact.queue_key}")
    if fact.type in (ft.CLAIMED, ft.STARTED, ft.COMPLETED, ft.FAILED) and fact.worker is not None:
        said.append(workers.get(fact.worker, euid.format_euid(euid.WORKER, fact.worker)))
    if fact.type == ft.EXPIRED and fact.worker is not None:
        said.append(f"held by {workers.get(fact.worker, euid.format_euid(euid.WORKER, fact.worker))}")
    said += [str(data[key]) for key in ("error_class", "error_code", "code", "reason", "external_ref") if data.get(key)]
    if retry_at := data.get("set", {}).get("retry_at"):
        said.append(f"again at {retry_at[11:19]}")
    if "dead_letter" in data:
        said.append(f"dead letter {euid.format_euid(euid.DEAD_LETTER, data['dead_letter'])}")
    if outputs := data.get("outputs"):
        said.append("made " + ", ".join(euid.format_euid(euid.SUBJECT, uid) for uid in outputs))
    return ", ".join(said)


def _errors(attempts: Sequence[LeaseRow], verbose: bool) -> list[RenderableType]:
    told: list[RenderableType] = []
    for row in attempts:
        if not row.error_message:
            continue
        lines = row.error_message.strip().splitlines()
        text = row.error_message.strip() if verbose else lines[-1]
        told.append(Text(f"attempt {row.attempt.attempt_number}: {shown(text)}", style="yellow"))
    return told
