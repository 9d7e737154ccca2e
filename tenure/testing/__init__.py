"""For tests: the pytest plugin's clock and ``drain``, and the conformance suites (design 06, SDK)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenure.testing.clock import MovableClock
    from tenure.testing.draining import drain

# Imported on first use: pytest loads the plugin in every run of an environment that Tenure is installed in.
_HOMES = {"MovableClock": "tenure.testing.clock", "drain": "tenure.testing.draining"}

__all__ = ["MovableClock", "drain"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tenure.testing' has no attribute {name!r}")
