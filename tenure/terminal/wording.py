"""How values read in a terminal: those of ``tenure.wording``, and states in their colours."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from tenure.wording.values import NOTHING, age, clock, moment, rate, shown

__all__ = ["NOTHING", "STATE_STYLES", "age", "clock", "moment", "rate", "shown", "state"]

STATE_STYLES = {
    "READY": "cyan", "RUNNING": "blue", "WAITING_EXTERNAL": "blue", "COMPLETED": "green", "SUCCEEDED": "green",
    "FAILED_RETRYABLE": "yellow", "FAILED_TERMINAL": "red", "HELD": "magenta", "CANCELED": "dim", "PENDING": "dim",
    "ACTIVE": "blue", "EXPIRED": "yellow", "ABANDONED": "yellow", "ONLINE": "green", "OFFLINE": "red",
    "PAUSED": "magenta", "FAILED": "red", "DRAINING": "yellow", "DISABLED": "red", "OPEN": "red",
}  # fmt: skip


def state(value: Any) -> Text:
    """A state in its colour."""
    return Text(shown(value), style=STATE_STYLES.get(str(value), ""))
