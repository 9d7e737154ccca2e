"""For those who receive Tenure's events: is a request what it says it is? (docs/how-to/receive-events.md)

from tenure.webhooks import verify_signature

verify_signature(request.body, request.headers, KEY)   # raises InvalidSignature
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from tenure.model.signing import EVENT_ID, SIGNATURE, TIMESTAMP, TOLERANCE, InvalidSignature, verify

__all__ = ["EVENT_ID", "SIGNATURE", "TIMESTAMP", "InvalidSignature", "verify_signature"]


def verify_signature(
    body: bytes, headers: Mapping[str, str], *keys: str, tolerance: float = TOLERANCE, now: float | None = None
) -> None:
    """Check that a webhook's request comes from Tenure; raises InvalidSignature where it does not.

    ``body`` is the body as it came, byte for byte. Give both keys while a key is being changed. ``tolerance`` is how many
    seconds old it may be, ``now`` the present time in seconds since 1970, for tests.
    """
    verify(body, headers, keys, time.time() if now is None else now, tolerance)
