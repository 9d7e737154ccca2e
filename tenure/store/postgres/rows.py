"""Turns rows into the values of the model, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from tenure.model.attempt import Attempt
from tenure.model.dead_letter import DeadLetter
from tenure.model.envelope import Envelope
from tenure.model.fact import Fact
from tenure.model.hold import Hold
from tenure.model.json_text import instant
from tenure.model.principal import AccessToken, Principal
from tenure.model.queue import Queue, RetryPolicy
from tenure.model.requests import BARS
from tenure.model.states import HoldState, HoldStatus, LeaseStatus, RecordStatus, Resolution, State
from tenure.model.thread import SubjectThread
from tenure.model.worker import Worker
from tenure.store.records import Claimed, Subject

Row = Mapping[str, Any]

_ENVELOPE = [f.name for f in fields(Envelope)]
_ATTEMPT = [f.name for f in fields(Attempt)]
_HOLD = [f.name for f in fields(Hold)]
_DEAD_LETTER = [f.name for f in fields(DeadLetter)]
_CLAIMED = [f.name for f in fields(Claimed) if f.compare]


def envelope(row: Row) -> Envelope:
    """The envelope of a row of ``execution`` joined with its template's code."""
    values = {name: row[name] for name in _ENVELOPE}
    values |= {"state": State(row["state"]), "hold_state": HoldState(row["hold_state"]), "head": bytes(row["head"])}
    values |= {name: tuple(row[name] or ()) for name in BARS}
    return Envelope(**values)


def attempt(row: Row) -> Attempt:
    """An attempt from its row, native or as JSON."""
    values = {name: row[name] for name in _ATTEMPT}
    for name in ("claimed_at", "heartbeat_at", "expires_at", "started_at", "ended_at"):
        values[name] = _time(values[name])
    values["lease_status"] = LeaseStatus(row["lease_status"]) if row["lease_status"] else None
    values["record_status"] = RecordStatus(row["record_status"])
    for name in ("start_state", "end_state"):
        values[name] = State(row[name]) if row[name] else None
    return Attempt(**values)


def hold(row: Row) -> Hold:
    """A hold from its row."""
    values = {name: row[name] for name in _HOLD}
    values |= {"placed_at": _time(row["placed_at"]), "released_at": _time(row["released_at"])}
    values["status"] = HoldStatus(row["status"])
    return Hold(**values)


def dead_letter(row: Row) -> DeadLetter:
    """A dead letter from its row."""
    values = {name: row[name] for name in _DEAD_LETTER}
    values |= {"dead_lettered_at": _time(row["dead_lettered_at"]), "resolved_at": _time(row["resolved_at"])}
    values["resolution_state"] = Resolution(row["resolution_state"])
    return DeadLetter(**values)


def thread(row: Row) -> SubjectThread:
    """A subject's thread from a row of ``load_threads``."""
    return SubjectThread(
        envelope(row),
        {a["uid"]: attempt(a) for a in row["attempts"]},
        {h["uid"]: hold(h) for h in row["holds"]},
        {d["uid"]: dead_letter(d) for d in row["dead_letters"]},
        in_run=row["in_run"],
        retry=RetryPolicy.model_validate(row["retry"]) if row.get("retry") is not None else None,
    )


def fact(row: Row) -> Fact:
    """A fact from its row."""
    return Fact(
        thread=row["thread"], seq=row["seq"], type=row["type"], at=row["at"], tenant=row["tenant"], actor=row["actor"],
        state=State(row["state"]) if row["state"] else None, revision=row["revision"], queue_key=row["queue_key"],
        lease=row["lease"], worker=row["worker"], data=row["data"], idempotency_key=row["idempotency_key"],
        payload_hash=bytes(row["payload_hash"]) if row["payload_hash"] is not None else None,
        correlation_id=row["correlation_id"], causation_id=row["causation_id"], trace_id=row["trace_id"],
        hash=bytes(row["hash"]), position=row["position"],
    )  # fmt: skip


def queue(row: Row) -> Queue:
    """A queue from its row."""
    return Queue.model_validate({name: row[name] for name in Queue.model_fields})


def worker(row: Row) -> Worker:
    """A worker from its row."""
    return Worker.model_validate({name: row[name] for name in Worker.model_fields})


def principal(row: Row) -> Principal:
    """A principal from its row."""
    return Principal.model_validate({name: row[name] for name in Principal.model_fields})


def access_token(row: Row) -> AccessToken:
    """An access token from its row."""
    return AccessToken.model_validate({name: row[name] for name in AccessToken.model_fields})


def claimed(row: Row) -> Claimed:
    """A claim from a row of ``claimed``."""
    return Claimed(**({name: row[name] for name in _CLAIMED} | {"state": State(row["state"])}))


def subject(row: Row) -> Subject:
    """The data tier of a subject from its row."""
    return Subject(**{f.name: row[f.name] for f in fields(Subject)})


def token_hash(value: str | None) -> bytes | None:
    """The bytes behind a bytea that came as JSON text."""
    return bytes.fromhex(value.removeprefix("\\x")) if value else None


def as_json(value: Any) -> Any:
    """A value of the model as the JSON parameters of ``apply`` carry it."""
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, bytes):
        return value.hex()
    return value


def _time(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else value
