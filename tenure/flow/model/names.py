"""Names, durations and runnable keys: the small vocabulary that definitions and facts share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

#: Where a route leads that ends its branch.
END = "end"

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=64)]
"""A step, an output key, a signal."""
WorkflowName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$", max_length=100)]
Names = Annotated[tuple[Name, ...], BeforeValidator(lambda v: (v,) if isinstance(v, str) else v)]

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)", re.ASCII)
_UNIT = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_YEARS = 86400 * 3660


def _seconds(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value.strip())
    if match is None:
        raise ValueError("a duration is a number of seconds or text such as 90s, 15m, 2h, 7d")
    return float(match[1]) * _UNIT[match[2]]


Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0, le=_YEARS, allow_inf_nan=False)]
"""A duration: a number of seconds, or text such as ``90s``, ``15m``, ``2h``, ``7d``."""


class Frozen(BaseModel):
    """A value of a definition: immutable, and nothing that it does not know."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")


@dataclass(frozen=True, slots=True)
class Runnable:
    """What a runnable key names: a step, which time round, and which item of a map."""

    step: str
    iteration: int = 1
    index: int | None = None

    def __str__(self) -> str:
        item = "" if self.index is None else f"[{self.index}]"
        return f"{self.step}{item}" + (f"#{self.iteration}" if self.iteration > 1 else "")


_RUNNABLE = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)(?:\[(\d{1,9})\])?(?:#([1-9]\d{0,8}))?", re.ASCII)


def parse_runnable(key: object) -> Runnable | None:
    """The runnable that ``key`` names; None for what is no runnable key."""
    match = _RUNNABLE.fullmatch(key) if isinstance(key, str) else None
    if match is None:
        return None
    return Runnable(match[1], int(match[3] or 1), None if match[2] is None else int(match[2]))


def line(text: str, most: int) -> str:
    """Text from elsewhere as one line that a fact may carry: no control characters, no more than ``most`` characters."""
    kept = text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
    return kept if len(kept) <= most else kept[: most - 1] + "…"


def rework_key(source: str, target: str, *, on_error: bool) -> str:
    """Under which a run counts how often a route back was taken."""
    return f"{source}{' failed' if on_error else ''} -> {target}"
