"""A subject's history in words: one entry for each fact, and for what was refused or asked again in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from tenure.model import euid
from tenure.model import fact_types as ft
from tenure.model.fact import Fact
from tenure.store.records import History, LeaseRow, RefusalRow
from tenure.wording.values import REPEATED, refusal_code, shown

REFUSED = "refused"
_LAST = 2**62


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a timeline. ``seq`` is the fact's number in its thread, None for a request that changed nothing."""

    seq: int | None
    at: datetime
    type: str
    state: str | None
    what: str
    by: str
    fact: Fact | None = None

    @property
    def told(self) -> str:
        """What happened and who did it, in one phrase."""
        return shown(", ".join(part for part in (self.what, f"by {self.by}" if self.by else "") if part))


def entries(history: History, workers: Mapping[int, str], *, verbose: bool = False) -> list[Entry]:
    """Facts in order, and what changed nothing. ``verbose``: renewals that follow one another are not drawn together."""
    found = [_entry(group, workers) for group in _grouped(history.facts, verbose)]
    found += [_refusal(refusal) for refusal in history.refusals]
    return sorted(found, key=lambda entry: (entry.at, entry.seq if entry.seq is not None else _LAST))


def thread_entries(facts: Sequence[Fact], workers: Mapping[int, str]) -> list[Entry]:
    """The facts of any other thread: of a worker, a queue."""
    return [_entry([fact], workers) for fact in facts]


def errors(attempts: Sequence[LeaseRow], *, verbose: bool = False) -> list[tuple[int, str]]:
    """The error of each failed attempt with its number: the last line of it, or all with ``verbose``."""
    told = [(row.attempt.attempt_number, row.error_message.strip()) for row in attempts if row.error_message]
    return [(number, shown(text if verbose else text.splitlines()[-1])) for number, text in told if text]


def _grouped(facts: Sequence[Fact], verbose: bool) -> Iterator[list[Fact]]:
    """Renewals that follow one another are one entry: a long piece of work has hundreds."""
    for renewals, group in groupby(facts, key=lambda fact: fact.type == ft.RENEWED):
        if renewals and not verbose:
            yield list(group)
        else:
            yield from ([fact] for fact in group)


def _entry(group: Sequence[Fact], workers: Mapping[int, str]) -> Entry:
    fact = group[-1]
    what = f"{len(group)} times" if len(group) > 1 else _what(fact, workers)
    own = fact.worker is not None and fact.actor.startswith("worker:") and fact.type != ft.EXPIRED
    by = "" if own else fact.actor
    return Entry(fact.seq, fact.at, fact.type, str(fact.state) if fact.state else None, what, by, fact)


def _refusal(refusal: RefusalRow) -> Entry:
    refused = refusal.refused
    if refusal_code(refused.code) == REPEATED:
        return Entry(None, refusal.at, REPEATED, None, f"{refused.action}, answered from before", refused.actor)
    return Entry(None, refusal.at, REFUSED, None, f"{refused.action}: {refused.code}", refused.actor)


def _what(fact: Fact, workers: Mapping[int, str]) -> str:
    data: Mapping[str, Any] = fact.data or {}
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
        prefix = euid.EVENT_DEAD_LETTER if fact.type.startswith("subscription.") else euid.DEAD_LETTER
        said.append(f"dead letter {euid.format_euid(prefix, data['dead_letter'])}")
    if outputs := data.get("outputs"):
        said.append("made " + ", ".join(euid.format_euid(euid.SUBJECT, uid) for uid in outputs))
    return ", ".join(said)
