"""Reads what users type: JSON, times, EUIDs or external references."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from tenure.model.attempt import attempt_of
from tenure.model.errors import InvalidPayload, InvalidRequest, NaiveDatetime, NotFound, QueueUnknown
from tenure.model.euid import parse_euid
from tenure.model.queue import Queue
from tenure.model.worker import Worker
from tenure.sdk.client import Tenure
from tenure.store.records import LeaseRow

_RELATIVE = re.compile(r"\+(\d{1,9}(?:\.\d{1,6})?)([smhd])")
#: What nobody but a worker's label looks like: a worker_key that somebody mistyped is told as such.
_EUID = re.compile(r"\s*WX-[0-9A-Za-z]+\s*", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

SubjectArgument = Annotated[str | None, typer.Argument(metavar="[SUBJECT]", help="EUID of the subject, e.g. SX-1T8Z.")]
RefOption = Annotated[str | None, typer.Option("--ref", help="Its external reference, instead of the EUID.")]
ReasonOption = Annotated[str | None, typer.Option("--reason", help="Why; kept as evidence.")]
NeededReason = Annotated[str, typer.Option("--reason", help="Why; kept as evidence.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many.")]
KeyOption = Annotated[str | None, typer.Option("--idempotency-key", help="The same key again gives the same answer.")]


def subject_of(client: Tenure, given: str | None, ref: str | None) -> int:
    """The uid of the subject that was named, by EUID or by external reference."""
    if (given is None) == (ref is None):
        raise InvalidRequest("Name one subject.", "Give its EUID (SX-1T8Z) or --ref EXTERNAL_REF, not both.")
    if given is not None:
        return parse_euid(given)
    assert ref is not None
    found = client.find_subject(ref)
    if found is None:
        raise NotFound(
            f"No subject has the external reference {ref!r}.", "Check it; it is exact, and unique per tenant."
        )
    return found


def worker_of(client: Tenure, given: str) -> Worker:
    """The worker that was named, by EUID or by worker_key."""
    workers = client.workers()
    for worker in workers:
        if worker.worker_key == given:
            return worker
    if _EUID.fullmatch(given):
        uid = parse_euid(given)
        for worker in workers:
            if worker.uid == uid:
                return worker
    raise NotFound(f"There is no worker {given}.", "List them: tenure workers list. A retired one is not shown.")


def existing_queue(client: Tenure, key: str) -> Queue:
    """The active queue of this key; ``QueueUnknown`` where there is none."""
    queue = client.queue(key)
    if queue is None:
        raise QueueUnknown(f"There is no queue {key!r}.", "List them: tenure queue list.", queue_key=key)
    return queue


def existing_lease(client: Tenure, lease: str) -> LeaseRow:
    """The lease that was named by EUID."""
    uid = attempt_of(parse_euid(lease))
    found = client.leases(None, limit=1, before=uid + 1)
    if not found or found[0].attempt.uid != uid:
        raise NotFound(f"There is no lease {lease}.", "Check its EUID; list them: tenure lease list --status all.")
    return found[0]


def json_value(given: str | None, what: str) -> Any:
    """A JSON value of any kind, given as text, as ``@file`` or as ``-`` for stdin; None for None."""
    if given is None:
        return None
    try:
        return json.loads(_text(given, what))
    except UnicodeDecodeError as error:
        raise InvalidPayload(f"{what} is not UTF-8 text: {error.reason}.", "Save it as UTF-8.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidPayload(f"{what} is not JSON: {error}.", 'Give a value such as {"n": 1}, or @file.json.') from None


def json_object(given: str | None, what: str) -> dict[str, Any]:
    """A JSON object given as text, as ``@file`` or as ``-`` for stdin; an empty one for None."""
    if given is None:
        return {}
    try:
        value = json.loads(_text(given, what))
    except UnicodeDecodeError as error:
        raise InvalidPayload(f"{what} is not UTF-8 text: {error.reason}.", "Save it as UTF-8.") from None
    except ValueError as error:
        raise InvalidPayload(
            f"{what} is not JSON: {error}.", 'Give an object such as {"path": "a.png"}, or @file.json.'
        ) from None
    if not isinstance(value, dict):
        raise InvalidPayload(f"{what} must be a JSON object.", 'Give one such as {"path": "a.png"}, or @file.json.')
    return value


def _text(given: str, what: str) -> str:
    if given == "-":
        return sys.stdin.read()
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidRequest(f"{what}: {given[1:]} cannot be read: {error.strerror}.", "Check the path.") from None
    except ValueError as error:
        if isinstance(error, UnicodeDecodeError):
            raise
        raise InvalidRequest(f"{what}: {given[1:]!r} cannot be a path.", "Check the path.") from None


def time_of(given: str | None, what: str) -> datetime | None:
    """A time with its zone, or one from now such as ``+10m``; None for None. Raises InvalidRequest, NaiveDatetime."""
    if given is None:
        return None
    try:
        if match := _RELATIVE.fullmatch(given.strip()):
            return datetime.now(UTC) + timedelta(seconds=float(match[1]) * _SECONDS[match[2]])
        value = datetime.fromisoformat(given.strip())
    except (ValueError, OverflowError):
        raise InvalidRequest(
            f"{what}: {given!r} is not a time.", "Give one like 2030-01-31T09:00:00Z or +10m."
        ) from None
    if value.tzinfo is None:
        raise NaiveDatetime(
            f"{what}: {given!r} has no time zone.", f"Say which: {given}Z for UTC, {given}+01:00, or +10m from now."
        )
    return value
