"""A subject's history as a timeline: each fact with what it changed, and what was refused in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from tenure.model import euid
from tenure.model import fact_types as ft
from tenure.model.fact import Fact
from tenure.model.json_text import instant
from tenure.store.records import History, LeaseRow
from tenure.terminal.listing import table
from tenure.terminal.wording import STATE_STYLES, clock, shown


def timeline(history: History, workers: Mapping[int, str], *, verbose: bool = False) -> list[RenderableType]:
    """The facts in order, refusals among them, and the errors of failed attempts."""
    name = euid.format_euid(euid.SUBJECT, history.subject.uid)
    title = Text(name, style="bold").append(f"  {shown(history.subject.name)}  {history.subject.template}", style="dim")
    entries: list[tuple[datetime, int, tuple[Any, ...]]] = [
        (fact.at, fact.seq, _row(fact, workers, verbose)) for fact in history.facts
    ]
    entries += [
        (refusal.at, 2**62, ("", clock(refusal.at), Text(f"refused: {refusal.refused.action}", style="yellow"), "",
                             f"{refusal.refused.code}: {refusal.refused.message}", refusal.refused.actor))
        for refusal in history.refusals
    ]  # fmt: skip
    entries.sort(key=lambda entry: entry[:2])
    days = sorted({instant(at)[:10] for at, _, _ in entries})
    title.append(f"  {days[0]}" if len(days) == 1 else f"  {days[0]} to {days[-1]}", style="dim")
    listed = table([">#", "!time (UTC)", "!fact", "!state", "what", "by"], [row for _, _, row in entries])
    return [title, listed, *_errors(history.attempts, verbose)]


def _row(fact: Fact, workers: Mapping[int, str], verbose: bool) -> tuple[Any, ...]:
    at = instant(fact.at)[:23] if verbose else clock(fact.at)
    state = Text(shown(fact.state), style=STATE_STYLES.get(str(fact.state), ""))
    return fact.seq, at, fact.type, state, _what(fact, workers), fact.actor.removeprefix("worker:")


def _what(fact: Fact, workers: Mapping[int, str]) -> str:
    data = fact.data or {}
    said: list[str] = []
    if fact.type in (ft.SUBMITTED, ft.REQUEUED, ft.COMPLETED) and fact.queue_key:
        said.append(f"{'→' if fact.type != ft.COMPLETED or fact.state == 'READY' else 'in'} {fact.queue_key}")
    if fact.type in (ft.CLAIMED, ft.STARTED, ft.EXPIRED) and fact.worker is not None:
        said.append(workers.get(fact.worker, euid.format_euid(euid.WORKER, fact.worker)))
    if data.get("started"):
        said.append("and started")
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
