"""The timeline of a run: every fact in a sentence, for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tenure.engine.caller import Caller
from tenure.flow.engine.reading import facts_of
from tenure.model.fact import Fact
from tenure.store.operation import Op

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Moment:
    """One fact of a run: when, who, what, in a sentence, and the fact's own data."""

    seq: int
    at: datetime
    type: str
    actor: str
    sentence: str
    step: str | None = None
    data: Data = field(default_factory=dict)


def timeline(caller: Caller, run: int, *, after_seq: int = 0, limit: int | None = None) -> Op[list[Moment]]:
    """What happened to a run, in order."""
    return [moment_of(fact) for fact in (yield from facts_of(caller, run, after_seq, limit))]


def moment_of(fact: Fact) -> Moment:
    """A fact as a moment of the timeline; one that says nothing sensible is told by its type."""
    data = fact.data or {}
    try:
        sentence = _SENTENCES[fact.type](data)
    except (KeyError, TypeError, AttributeError, IndexError):
        sentence = f"{fact.type}."
    return Moment(fact.seq, fact.at, fact.type, fact.actor, sentence, data.get("step"), data)


def _named(data: Data) -> str:
    again = f", time {data['iteration']}" if data.get("iteration", 1) > 1 else ""
    return f"{data['step']}{again}"


def _planned(data: Data) -> str:
    return f"Planned: {', '.join(_one(each) for each in data['runnables'])}."


def _one(planned: Data) -> str:
    if planned.get("total") is None:
        return _named(planned)
    stop = planned.get("stop") if planned.get("stop") is not None else planned["total"]
    if stop == planned.get("start", 0) + 1:
        return f"{_named(planned)} (item {stop} of {planned['total']})"
    return f"{_named(planned)} (items {planned.get('start', 0) + 1} to {stop} of {planned['total']})"


def _applied(data: Data) -> str:
    items = data.get("items") or []
    if items and data.get("outcome") is None:
        good = sum(item.get("outcome") == "ok" for item in items)
        if len(items) == 1:
            return f"1 item of {_named(data)} ended{', well' if good else ''}."
        return f"{len(items)} items of {_named(data)} ended, {good} of them well."
    said = {"ok": "succeeded", "error": "failed", "canceled": "was canceled"}[data["outcome"]]
    error = data.get("error") or {}
    why = f": {error['code']}" if error.get("code") else ""
    return f"{_named(data)} {said}{why}{_routes(data)}."


def _routes(data: Data) -> str:
    to = ", then to " + ", ".join(data["to"]) if data.get("to") else ""
    return f"{to}, which is done again" if data.get("rework") else to


def _reason(data: Data) -> str:
    return f": {data['reason']}" if data.get("reason") else ""


def _children(data: Data) -> str:
    count = len(data["children"])
    what = "a run" if count == 1 else f"{count} runs"
    return f"{_named(data)} started {what} of {data['workflow']}."


def _started(data: Data) -> str:
    key = f" under the key {data['key']}" if data.get("key") and not data.get("parent") else ""
    return f"Started {data['workflow']} version {data['version']}{key}."


def _terminal(data: Data) -> str:
    at = f" at {data['step']}" if data.get("step") else ""
    code = f" ({data['code']})" if data.get("code") else ""
    return f"The run ended: {data['status']}{at}{code}."


def _resolved(data: Data) -> str:
    comment = f": {data['comment']}" if data.get("comment") else ""
    return f"{_named(data)} was {data['decision']}{comment}{_routes(data)}."


_SENTENCES: dict[str, Callable[[Data], str]] = {
    "run.started": _started,
    "run.results_adopted": lambda d: f"Kept from the run before: {', '.join(r['step'] for r in d['results'])}.",
    "run.runnables_planned": _planned,
    "run.runnable_applied": _applied,
    "run.step_logged": lambda d: f"{_named(d)}: {d['message']}",
    "run.step_paused": lambda d: (
        f"Waits at {_named(d)} for {'an approval' if d['kind'] == 'approval' else 'a resume'}."
    ),
    "run.step_resolved": _resolved,
    "run.deadline_passed": lambda d: f"{_named(d)} took longer than its deadline.",
    "run.signal_received": lambda d: f"Signal {d['name']} came in.",
    "run.signal_taken": lambda d: f"{d['runnable']} took a signal.",
    "run.signal_awaited": lambda d: f"{d['runnable']} waits for the signal {d['name']}.",
    "run.child_started": _children,
    "run.paused": lambda d: f"Paused{_reason(d)}.",
    "run.resumed": lambda d: f"Resumed{_reason(d)}.",
    "run.cancel_requested": lambda d: f"To be canceled{_reason(d)}.",
    "run.failure_noted": lambda d: (
        f"It cannot succeed any more: {d['code']}{' at ' + d['step'] if d.get('step') else ''}."
    ),
    "run.compensation_planned": lambda d: f"To be undone: {', '.join(u['step'] for u in d['steps'])}.",
    "run.migrated": lambda d: f"Goes on under version {d['version']} instead of {d['before']}{_reason(d)}.",
    "run.step_kept": lambda d: f"{d['runnable']} kept the result of {d['name']}.",
    "run.terminal": _terminal,
}
