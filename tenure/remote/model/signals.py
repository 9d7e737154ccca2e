"""What facts of the border carry: signals that fit into 10 KiB, whatever length the sentences in them had (S4 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenure.model.fact import MAX_DATA_BYTES
from tenure.model.json_text import canonical_json, payload_hash
from tenure.remote.model.contracts import ExecutionEvent, SubmitJobCommand

_SENTENCES = frozenset({"status_detail", "message", "display_message"})
_JOINS = {"tenant_id", "workspace_id", "job_id", "submission_id", "trace_id"}


def signal(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data as a fact may carry it: where it is too much, its sentences are cut short."""
    cut = dict(data)
    for longest in (1000, 300, 80):
        if len(canonical_json(cut).encode()) <= MAX_DATA_BYTES:
            break
        cut = _cut(data, longest)
    return cut


def event_hash(event: ExecutionEvent) -> bytes:
    """SHA-256 of what an event says."""
    return payload_hash(event.wire())


def event_signal(event: ExecutionEvent, number: int, applied: bool) -> dict[str, Any]:
    """What the fact of an event carries; the ids of the submission are those of its thread."""
    told = {name: value for name, value in event.wire().items() if name not in _JOINS}
    return signal({**told, "number": number, "applied": applied})


def command_hash(command: SubmitJobCommand) -> bytes:
    """SHA-256 of what makes two commands the same: all but the session in which it was asked for."""
    told = command.wire()
    told["requested_by"].pop("session_id", None)
    return payload_hash(told)


def _cut(value: Any, longest: int, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _cut(inner, longest, key) for key, inner in value.items()}
    if name in _SENTENCES and isinstance(value, str) and len(value) > longest:
        return value[: longest - 1] + "…"
    return value
