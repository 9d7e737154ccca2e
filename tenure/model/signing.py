"""How events are signed for their receivers: HMAC-SHA256 over the time and the body (design 05, Out).

The signature covers ``<timestamp>.<body>``, so that a request that somebody kept cannot be sent again later. While a key is
changed there are two, and a signature of each.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tenure.model.errors import TenureError

TIMESTAMP, SIGNATURE, EVENT_ID = "Tenure-Timestamp", "Tenure-Signature", "Tenure-Event-Id"
TOLERANCE = 300.0
"""How many seconds old a request may be, or how far ahead the sender's clock."""
_VERSION = "v1="
_MOST_SIGNATURES = 16


class InvalidSignature(TenureError):
    """A request that was not signed with the key, or too long ago."""

    code = "invalid_signature"
    status = 401


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key that events are signed with. Its text shows nowhere by itself."""

    number: int
    text: str = field(repr=False)


def signature(keys: Iterable[SigningKey], timestamp: int, body: bytes) -> str:
    """The value of the header: one signature of each key."""
    return ",".join(_VERSION + _digest(key.text, str(timestamp), body) for key in keys)


def verify(body: bytes, headers: Mapping[str, str], keys: Iterable[str], now: float, tolerance: float) -> None:
    """Raises InvalidSignature where no signature fits any key, or its time is more than ``tolerance`` seconds off."""
    found = {name.lower(): value for name, value in headers.items()}
    timestamp, signatures = found.get(TIMESTAMP.lower(), ""), found.get(SIGNATURE.lower(), "")
    if not timestamp.isascii() or not timestamp.isdecimal() or not signatures:
        raise InvalidSignature(
            f"The request has no {TIMESTAMP} and {SIGNATURE}.", "Refuse it: it does not come from Tenure."
        )
    given = [each.strip().removeprefix(_VERSION).encode() for each in signatures.split(",")[:_MOST_SIGNATURES]]
    wanted = [_digest(key, timestamp, body).encode() for key in keys]
    # All are compared, whatever fits: how long it takes tells nothing.
    fits = [hmac.compare_digest(one, other) for one in given for other in wanted]
    if not any(fits):
        raise InvalidSignature(
            "No signature of the request fits the key.",
            "Refuse it; give the body as it came, byte for byte, and the present key.",
        )
    age = now - int(timestamp)
    if not math.isfinite(age) or abs(age) > tolerance:
        raise InvalidSignature(
            f"The request was signed {age:.0f} s ago.", "Refuse it; see that the clocks of both machines are right."
        )


def _digest(key: str, timestamp: str, body: bytes) -> str:
    return hmac.new(key.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
