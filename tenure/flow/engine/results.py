"""What operations on runs answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tenure.flow.engine.moving import Moving


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run after what was asked of it; ``replayed`` tells that it had been done before, and nothing changed now."""

    run: int
    workflow: str
    version: int
    status: str
    seq: int
    started_at: datetime
    run_key: str | None = None
    boundary: Mapping[str, Any] | None = None
    ended_at: datetime | None = None
    replayed: bool = False


def result_of(moving: Moving, *, replayed: bool = False) -> RunResult:
    """The answer for a run."""
    row = moving.row
    return RunResult(
        row.uid, row.name, moving.state.version, row.status, row.seq, row.started_at, row.run_key, row.boundary,
        row.ended_at, replayed or moving.replayed is not None,
    )  # fmt: skip
