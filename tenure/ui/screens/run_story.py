"""A run in words: its timeline, a step with what stands for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tenure.flow.engine.reading import RunSnapshot, StepView, SubjectView
from tenure.flow.engine.timeline import Moment
from tenure.sdk.public_form import public
from tenure.ui import cells, places
from tenure.wording.values import shown

PART = 25
"""Facts, items and children on a page of a run."""
SUBJECTS = [
    {"key": "subject", "label": "Subject", "align": "tight"}, {"key": "runnable", "label": "Stands for"},
    {"key": "state", "label": "State"},
]  # fmt: skip
_WORSE_FIRST = ("FAILED_TERMINAL", "FAILED_RETRYABLE", "HELD", "RUNNING", "CLAIMED", "READY")
_PHASES = {"ok": "succeeded", "error": "failed", "open": "waiting"}
_ALERTS = ("run.failure_noted", "run.cancel_requested", "run.deadline_passed")


def timeline(moments: Sequence[Moment]) -> list[dict[str, Any]]:
    """The facts of a run, newest first, with the data of each to unfold."""
    return [_moment(moment) for moment in reversed(moments)]


def _moment(moment: Moment) -> dict[str, Any]:
    return {
        "key": f"{moment.seq}", "seq": moment.seq, "type": moment.type, "state": None, "what": shown(moment.sentence),
        "error": None, "by": shown(moment.actor), "at": cells.since(moment.at), "tone": _tone(moment),
        "more": public(dict(moment.data)) or None,
    }  # fmt: skip


def _tone(moment: Moment) -> str | None:
    ended = moment.data.get("status") if moment.type == "run.terminal" else moment.data.get("outcome")
    if ended in ("COMPLETED", "ok"):
        return "done"
    return "alert" if moment.type in _ALERTS or ended in ("FAILED", "error") else None


def chosen(snapshot: RunSnapshot, wanted: str | None) -> StepView:
    """The step that is shown: the one asked for, else the one that matters most just now."""
    order = {"open": 0, "error": 1, "active": 2}
    matters = min(snapshot.steps, key=lambda step: (order.get(step.phase, 3), _later(step)))
    return next((step for step in snapshot.steps if step.step == wanted), matters)


def _later(step: StepView) -> float:
    at = step.ended_at or step.planned_at
    return -at.timestamp() if at is not None else 0.0


def step_marks(step: StepView, skipped: bool) -> list[cells.Cell]:
    """How a step stands."""
    again = [cells.text(f"time {step.iteration}")] if step.iteration > 1 else []
    phase = "skipped" if skipped else _PHASES.get(step.phase, step.phase)
    return [cells.text(step.performer), cells.state(phase), *again]


def step_fields(step: StepView, node: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is to be told of a step."""
    items = step.items
    told = [
        ("What it is", cells.text(node["description"]) if node.get("description") else None),
        ("Queue", cells.queue(node["queue"]) if node.get("queue") else None),
        ("Planned", cells.since(step.planned_at) if step.planned_at else None),
        ("Ended", cells.since(step.ended_at) if step.ended_at else None),
        ("Deadline", cells.until(datetime.fromisoformat(step.deadline)) if step.deadline else None),
        ("Waits until", cells.until(datetime.fromisoformat(step.until)) if step.until else None),
        ("Waits for signal", cells.mono(step.signal) if step.signal else None),
        ("Items", cells.text(f"{items['ok']} of {items['total']} well") if items else None),
        ("Items failed", cells.text(items["error"], tone="bad") if items and items["error"] else None),
        ("Items planned", cells.text(items["planned"]) if items else None),
        (
            "Subjects below",
            cells.text(f"{PART} of {items['planned']:,}, what is in trouble first")
            if items and items["planned"] > PART
            else None,
        ),
        ("Error", cells.code(_without_nothing(step.error)) if step.error else None),
    ]
    return [{"label": label, "cell": cell} for label, cell in told if cell is not None]


def _without_nothing(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}


def subjects(step: StepView) -> list[dict[str, Any]]:
    """A page of the subjects that stand for a step, or for the items of a map; what is in trouble first."""
    rank = {state: at for at, state in enumerate(_WORSE_FIRST)}
    worse_first = sorted(step.subjects[:PART], key=lambda s: (rank.get(s.state or "", len(rank)), s.subject))
    return [_subject(subject) for subject in worse_first]


def _subject(subject: SubjectView) -> dict[str, Any]:
    again = f"{subject.attempt_count} attempts" if subject.attempt_count > 1 else None
    why = ", ".join(part for part in (subject.error_class, subject.error_code, again) if part)
    return {
        "key": subject.runnable, "name": subject.runnable, "href": places.subject(subject.subject),
        "cells": [
            cells.subject(subject.subject), cells.mono(subject.runnable),
            cells.state(subject.state or "lost") | ({"sub": why} if why else {}),
        ],
    }  # fmt: skip
