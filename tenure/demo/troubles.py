"""What can go wrong with the demonstration itself."""

from __future__ import annotations

from tenure.model.errors import TenureError


class DemoFailed(TenureError):
    """Something did not happen that should have, within its time."""

    code = "demo_failed"
