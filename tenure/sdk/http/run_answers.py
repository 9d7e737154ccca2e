"""What a server answers about runs, as the values that a client with a database gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from tenure.flow.engine.reading import RunSnapshot, StepView, SubjectView
from tenure.flow.engine.results import RunResult
from tenure.flow.engine.timeline import Moment
from tenure.flow.model.facts import ParentLink
from tenure.flow.model.state import Anomaly, Manual, Resolution, RunState
from tenure.flow.rows import RunRow, WorkflowRow
from tenure.model.euid import parse_euid
from tenure.model.visibility import Reason

Shown = Mapping[str, Any]


def _uid(value: Any) -> int | None:
    return parse_euid(value) if isinstance(value, str) else None


def _time(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else None


_READ: dict[str, Callable[[Any], Any]] = dict.fromkeys(
    ("uid", "tenant", "workflow", "root", "parent_run", "run", "subject", "record", "replay_of", "retry_of"), _uid
) | dict.fromkeys(
    ("started_at", "ended_at", "wake_at", "planned_at", "created_at", "retired_at", "at"), _time
) | {"input_hash": bytes.fromhex, "fingerprint": bytes.fromhex}  # fmt: skip


def _values(kind: type, shown: Shown, **read: Any) -> dict[str, Any]:
    """What is shown of the fields of a class, read by their names."""
    values = {}
    for field in fields(kind):
        if field.name in read:
            values[field.name] = read[field.name]
        elif field.name in shown:
            one = _READ.get(field.name)
            values[field.name] = one(shown[field.name]) if one is not None else shown[field.name]
    return values


def result(shown: Shown) -> RunResult:
    """A run after what was asked of it."""
    return RunResult(**_values(RunResult, shown, workflow=shown["workflow"]))


def row(shown: Shown) -> RunRow:
    """A run as lists show it."""
    return RunRow(**_values(RunRow, {**shown, "uid": shown["euid"]}))


def rows(page: Shown) -> list[RunRow]:
    """A page of runs."""
    return [row(each) for each in page["items"]]


def workflow(shown: Shown) -> WorkflowRow:
    """One version of a workflow."""
    return WorkflowRow(**_values(WorkflowRow, {**shown, "uid": shown["euid"]}))


def snapshot(shown: Shown) -> RunSnapshot:
    """A run as it stands."""
    return RunSnapshot(
        **_values(
            RunSnapshot, shown, run=row(shown["run"]), steps=[_step(step) for step in shown["steps"]],
            manual=Manual.model_validate(shown["manual"]) if shown["manual"] else None,
            resolved=Resolution.model_validate(shown["resolved"]) if shown["resolved"] else None,
            children=[row(child) for child in shown["children"]],
            anomalies=tuple(Anomaly.model_validate(each) for each in shown["anomalies"]),
            parent=_parent(shown["parent"]),
        )
    )  # fmt: skip


def _step(shown: Shown) -> StepView:
    subjects = [SubjectView(**_values(SubjectView, subject)) for subject in shown["subjects"]]
    children = [parse_euid(child) for child in shown["children"]]
    return StepView(**_values(StepView, shown, subjects=subjects, children=children, routes=tuple(shown["routes"])))


def _parent(shown: Shown | None) -> Mapping[str, Any] | None:
    if shown is None:
        return None
    return {name: _uid(value) if name == "run" and isinstance(value, str) else value for name, value in shown.items()}


def moments(page: Shown) -> list[Moment]:
    """What happened to a run."""
    return [Moment(**_values(Moment, moment)) for moment in page["items"]]


def reasons(shown: Shown) -> list[Reason]:
    """Why a run does not move."""
    return [Reason(**reason) for reason in shown["reasons"]]


def as_of(shown: Shown) -> RunState:
    """The fold of a run."""
    known = {name: value for name, value in shown.items() if name in RunState.model_fields}
    for name in ("run", "root", "replay_of", "retry_of"):
        if isinstance(known.get(name), str):
            known[name] = parse_euid(known[name])
    parent = known.get("parent")
    if isinstance(parent, Mapping):
        known["parent"] = ParentLink.model_validate(dict(_parent(parent) or {}))
    return RunState.model_validate(known)
