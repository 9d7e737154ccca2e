"""Facts as CloudEvents 1.0 in structured JSON, with what their type registers as safe and no more (design 05, Out)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tenure.model import euid
from tenure.model.attempt import attempt_of
from tenure.model.fact import Fact
from tenure.model.json_text import instant
from tenure.model.safe_fields import COLUMNS

CONTENT_TYPE = "application/cloudevents+json; charset=utf-8"
PREFIX = "tenure."
"""Before the fact type in the type of an event."""

#: Whose thread it is, by the first word of the type; all others are of subjects.
_THREADS = {
    "queue": euid.QUEUE, "worker": euid.WORKER, "tenant": euid.TENANT, "template": euid.TENANT,
    "principal": euid.PRINCIPAL, "access_token": euid.PRINCIPAL, "run": euid.RUN, "workflow": euid.WORKFLOW,
    "schedule": euid.SCHEDULE, "subscription": euid.SUBSCRIPTION, "node": euid.NODE, "submission": euid.SUBMISSION,
    "execution_event": euid.SUBMISSION, "projection": euid.SUBMISSION,
}  # fmt: skip
#: What a uid under this key of safe data looks like.
_UIDS = {
    "worker": euid.WORKER, "hold": euid.HOLD, "record": euid.RECORD, "dead_letter": euid.DEAD_LETTER, "outputs": euid.SUBJECT,
    "ended": euid.LEASE, "access_token": euid.ACCESS_TOKEN,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Leaving:
    """What of a fact type may leave: the names of its safe fields; or, with ``event_id``, its data as it is."""

    safe: tuple[str, ...] = COLUMNS
    event_id: str | None = None


@dataclass(frozen=True, slots=True)
class CloudEvent:
    """An event as it leaves. ``id`` is the same whenever the fact is sent, and the same for no other."""

    id: str
    type: str
    subject: str
    body: bytes
    fact: Fact = field(repr=False, compare=False)
    """What it tells of, for destinations within the database."""


def thread_euid(fact: Fact) -> str:
    """The EUID of what a fact is about."""
    return euid_of_thread(fact.type, fact.thread)


def euid_of_thread(type_: str, thread: int) -> str:
    """The EUID of what facts of this type in this thread are about."""
    return euid.format_euid(_THREADS.get(type_.partition(".")[0], euid.SUBJECT), thread)


def cloud_event(fact: Fact, leaving: Leaving, tenant_key: str, source: str) -> CloudEvent:
    """The event of a fact. ``source`` is a URI reference that says where it comes from."""
    about = thread_euid(fact)
    data = dict(fact.data or {})
    identity = f"{about}/{fact.seq}"
    if leaving.event_id is None:
        data = _safe(fact, data, leaving.safe)
    else:
        identity = str(data.get(leaving.event_id, identity))
    document = {
        "specversion": "1.0", "id": identity, "source": source, "type": PREFIX + fact.type, "subject": about,
        "time": instant(fact.at), "datacontenttype": "application/json", "tenant": tenant_key, "sequence": str(fact.seq),
        "data": data,
    }  # fmt: skip
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return CloudEvent(identity, PREFIX + fact.type, about, body, fact)


def _safe(fact: Fact, data: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    columns = {
        "state": str(fact.state) if fact.state is not None else None, "revision": fact.revision,
        "queue_key": fact.queue_key, "actor": fact.actor, "correlation_id": fact.correlation_id,
        "lease": euid.format_euid(euid.LEASE, attempt_of(fact.lease)) if fact.lease is not None else None,
        "worker": fact.worker,
    }  # fmt: skip
    found = {name: columns[name] if name in columns else data.get(name) for name in names}
    return {name: _named(name, value) for name, value in found.items() if value is not None}


def _named(name: str, value: Any) -> Any:
    prefix = _UIDS.get(name)
    if prefix is None:
        return value
    if isinstance(value, list):
        return [_named(name, each) for each in value]
    return euid.format_euid(prefix, value) if isinstance(value, int) else value
