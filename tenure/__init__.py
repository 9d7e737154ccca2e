"""Tenure runs work that must be provable."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenure.model.errors import TenureError
    from tenure.model.states import ErrorClass, State
    from tenure.sdk.client import AsyncTenure, Tenure
    from tenure.sdk.inbox import Message
    from tenure.sdk.job import Job
    from tenure.sdk.outcomes import Defer, Dispatched, Fail, Next, Produced, Retry
    from tenure.sdk.worker import Worker

__version__ = "0.1.0"

# Imported on first use, so that the pure model can be imported without a database driver.
_HOMES = {
    "AsyncTenure": "tenure.sdk.client", "Tenure": "tenure.sdk.client", "Job": "tenure.sdk.job", "Message": "tenure.sdk.inbox",
    "Defer": "tenure.sdk.outcomes", "Dispatched": "tenure.sdk.outcomes", "Fail": "tenure.sdk.outcomes",
    "Next": "tenure.sdk.outcomes", "Produced": "tenure.sdk.outcomes", "Retry": "tenure.sdk.outcomes",
    "ErrorClass": "tenure.model.states", "State": "tenure.model.states", "TenureError": "tenure.model.errors",
    "Worker": "tenure.sdk.worker",
}  # fmt: skip

__all__ = [
    "AsyncTenure", "Defer", "Dispatched", "ErrorClass", "Fail", "Job", "Message", "Next", "Produced", "Retry", "State", "Tenure",
    "TenureError", "Worker", "__version__",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tenure' has no attribute {name!r}")
