"""The store's clock, as an operation: what every time on a screen is compared with."""

from __future__ import annotations

from datetime import datetime

from tenure.engine.caller import Caller
from tenure.store.operation import Op


def now(caller: Caller) -> Op[datetime]:
    """The present moment by the store's clock."""
    return (yield from caller.store.clock())
