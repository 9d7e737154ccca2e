"""How long what is no fact is kept (design 05, Growth; docs/decisions/0018). Facts are never removed by this."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tenure.model.errors import InvalidRequest

RetentionKind = Literal["inbox", "delivery"]
MOST_DAYS = 3650


@dataclass(frozen=True, slots=True)
class Kept:
    """How long a kind is kept by default, and at least, in days."""

    default: int
    least: int


#: As `tenure.retention_default` and the checks of `tenure.retention` in the database; a test compares the two.
KINDS: dict[RetentionKind, Kept] = {"inbox": Kept(90, 7), "delivery": Kept(30, 1)}


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a kind is kept for a tenant: ``inbox``, the ids by which messages that come again are known; ``delivery``,
    attempts to deliver that failed.

    ``set_seq`` is the fact of the tenant that said so, none for the default. Whatever is younger than ``cleared_until`` is there
    still; ``cleared`` is how many rows were removed in all.
    """

    kind: RetentionKind
    days: int
    set_seq: int | None
    cleared_until: datetime | None
    cleared: int


def checked(kind: RetentionKind, days: int) -> None:
    """Raises InvalidRequest where a kind may not be kept for so many days, or where there is no such kind."""
    if kind not in KINDS:
        raise InvalidRequest(f"{kind!r} is not kept for a time.", f"Give one of: {', '.join(KINDS)}.")
    least = KINDS[kind].least
    if not least <= days <= MOST_DAYS:
        raise InvalidRequest(
            f"{kind} is kept for {least} to {MOST_DAYS} days, not {days}.",
            "Longer than any sender waits to send again.",
        )
