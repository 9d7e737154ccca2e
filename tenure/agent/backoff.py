"""How long to wait before something is tried again."""

from __future__ import annotations

import random


def pause_after(failures: int, first: float, longest: float, asked: float | None = None) -> float:
    """Seconds: doubled with each failure, with jitter, never below what the other side asks for."""
    delay = min(first * 2.0 ** min(failures, 30), longest)
    delay *= random.uniform(0.5, 1.0)  # noqa: S311  # nosec B311 - many nodes lost the same server; no secret
    return max(delay, asked or 0.0)
