"""Values as text: ages, times, rates, and what users typed."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

from tenure.model.json_text import instant
from tenure.model.queue import RetryPolicy
from tenure.sdk.public_form import public

NOTHING = "–"
REPEATED = "repeated"
_INSTANT = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00")
_STEPS = ((86400, "d"), (3600, "h"), (60, "m"))


def shown(value: Any) -> str:
    """A value as text. Control characters, which could take a terminal over, are written out."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, dict | list | tuple):
        return shown(json.dumps(public(value), ensure_ascii=False, default=str)) if value else NOTHING
    text = str(value).encode("utf-8", "backslashreplace").decode()
    return "".join(c if c == "\n" or c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def listed(value: Any) -> str:
    """Evidence as text: of many things what each is called, one after the other; of one thing what is known of it."""
    if isinstance(value, list | tuple) and value:
        apart = "; " if any(isinstance(each, dict) and "worker_key" not in each for each in value) else ", "
        return apart.join(shown(each["worker_key"]) if _named(each) else listed(each) for each in value)
    if isinstance(value, dict) and value and not any(isinstance(each, dict | list) for each in value.values()):
        return ", ".join(f"{name.replace('_', ' ')} {shown(each)}" for name, each in value.items())
    return shown(value)


def _named(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("worker_key"), str)


def to_the_second(text: str) -> str:
    """A sentence of ours with its times as people read them: ``2026-11-28 10:32:30Z``."""
    return _INSTANT.sub(lambda found: found[0][:19].replace("T", " ") + "Z", text)


def refusal_code(code: str) -> str:
    """The code of a request that changed nothing. One that was answered from before is kept with the refused, but is none."""
    return REPEATED if code == "idempotent_replay" else code


def age(seconds: float | None) -> str:
    """A duration in its two largest units: ``3h 20m``."""
    if seconds is None:
        return NOTHING
    if seconds < 60:
        return f"{max(seconds, 0):.0f}s" if seconds >= 10 else f"{max(seconds, 0):.1f}s"
    for index, (size, unit) in enumerate(_STEPS):
        if seconds >= size:
            whole, rest = divmod(int(seconds), size)
            smaller = _STEPS[index + 1] if index + 1 < len(_STEPS) else (1, "s")
            part = rest // smaller[0]
            return f"{whole}{unit} {part}{smaller[1]}" if part else f"{whole}{unit}"
    return NOTHING


def moment(value: datetime | None) -> str:
    """A time to the second, in UTC."""
    return NOTHING if value is None else instant(value)[:19].replace("T", " ") + "Z"


def clock(value: datetime) -> str:
    """The time of day to the millisecond, in UTC."""
    return instant(value)[11:23]


def retries(policy: RetryPolicy) -> str:
    """How failures are retried: in which manner, and from how soon to how late."""
    manner = policy.mode.lower().replace("_", " ")
    return f"{manner}, {age(policy.initial_delay_seconds)} to {age(policy.max_delay_seconds)}"


def rate(per_minute: float) -> str:
    """A throughput with as many digits as it deserves."""
    return f"{per_minute:,.0f}" if per_minute >= 10 else f"{per_minute:.1f}"
