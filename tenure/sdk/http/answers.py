"""The values behind what a server answers: EUIDs become uids again, ISO texts times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from tenure.engine.acting import Outcome
from tenure.model.attempt import attempt_of
from tenure.model.euid import parse_euid
from tenure.model.fact_types import REGISTRY
from tenure.model.result import ActionResult
from tenure.model.states import State
from tenure.model.worker import Worker
from tenure.sdk.http.problem import told
from tenure.store.records import Claimed

_TYPES: dict[str, str] = {}
for _name, _kind in REGISTRY.items():
    _TYPES.setdefault(_kind.action, _name)
_PLAIN = ("action", "state", "revision", "seq", "at", "queue_key", "replayed", "subject", "lease", "record", "worker")
_CLAIMED = frozenset(field.name for field in fields(Claimed)) - {"order"}
_EUIDS = ("hold", "dead_letter", "ended")


def worker(shown: Mapping[str, Any]) -> Worker:
    """A worker as it stands."""
    values = {name: value for name, value in shown.items() if name in Worker.model_fields}
    values["uid"] = parse_euid(shown["euid"])
    for name in ("tenant", "owner"):
        if isinstance(shown.get(name), str):
            values[name] = parse_euid(shown[name])
    return Worker.model_validate(values)


def claimed(shown: Mapping[str, Any]) -> Claimed:
    """A subject taken under lease."""
    values = {name: value for name, value in shown.items() if name in _CLAIMED}
    for name in ("lease", "subject", "worker"):
        values[name] = parse_euid(shown[name])
    values["state"] = State(shown["state"])
    for name in ("claimed_at", "expires_at"):
        values[name] = datetime.fromisoformat(shown[name])
    return Claimed(**values)


def result(shown: Mapping[str, Any]) -> ActionResult:
    """The outcome of an action on a subject."""
    data = {name: value for name, value in shown.items() if name not in _PLAIN}
    for name in _EUIDS:
        if isinstance(data.get(name), str):
            data[name] = parse_euid(data[name])
    if "outputs" in data:
        data["outputs"] = [parse_euid(output) for output in data["outputs"]]
    return ActionResult(
        action=shown["action"], type=_TYPES[shown["action"]], subject=parse_euid(shown["subject"]), state=shown["state"],
        revision=shown["revision"], seq=shown["seq"], at=datetime.fromisoformat(shown["at"]), queue_key=shown["queue_key"],
        lease=attempt_of(parse_euid(shown["lease"])) if shown.get("lease") else None,
        worker=parse_euid(shown["worker"]) if shown.get("worker") else None, data=data, replayed=shown["replayed"],
    )  # fmt: skip


def outcome(shown: Mapping[str, Any]) -> Outcome:
    """The outcome of one of many: its result, or its problem."""
    return told(shown["problem"]) if shown.get("problem") is not None else result(shown["result"])
