"""How long to wait before the next attempt (S1 sections 2.1 and 8.5); jitter is drawn from a hash, so it repeats."""

from __future__ import annotations

import hashlib
import sys
from datetime import timedelta

from tenure.model.queue import BackoffMode, RetryPolicy


def retry_delay(policy: RetryPolicy, failures: int, subject: int) -> timedelta:
    """The delay after the ``failures``-th failure (1, 2, ...) of ``subject``, never above the policy's maximum."""
    base = policy.initial_delay_seconds
    if policy.mode is BackoffMode.LINEAR:
        base *= failures
    elif policy.mode is BackoffMode.EXPONENTIAL_BACKOFF:
        base *= _power(policy.backoff_factor, failures - 1)
    seconds = min(base, policy.max_delay_seconds)
    if policy.jitter:
        seconds *= 1 - policy.jitter * _share(subject, failures)
    return timedelta(microseconds=round(seconds * 1_000_000))


def _power(factor: float, exponent: int) -> float:
    try:
        return factor**exponent
    except OverflowError:
        return sys.float_info.max


def _share(subject: int, attempt: int) -> float:
    digest = hashlib.sha256(f"{subject}:{attempt}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
