"""The public form of everything a client returns: plain JSON-ready data with EUIDs for uids and ISO 8601 for times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from pydantic import BaseModel

from tenure.engine.reading import Standing
from tenure.flow.rows import RunRow, ScheduleRow, WorkflowRow
from tenure.ledger.rows import Delivery, EventDeadLetter, SubscriptionRow
from tenure.model import euid
from tenure.model.attempt import Attempt, attempt_of, record_of
from tenure.model.cloud_event import euid_of_thread
from tenure.model.dead_letter import DeadLetter
from tenure.model.envelope import Envelope
from tenure.model.fact import Fact
from tenure.model.hold import Hold
from tenure.model.json_text import instant
from tenure.model.principal import AccessToken, Principal
from tenure.model.queue import Queue
from tenure.model.result import ActionResult
from tenure.model.thread import SubjectThread
from tenure.model.visibility import Reason
from tenure.model.worker import Worker
from tenure.remote.engine.nodes import NodeStanding
from tenure.remote.engine.reading import SubmissionHistory, SubmissionStanding
from tenure.remote.model.fields import Contract
from tenure.remote.rows import SubmissionRow
from tenure.sdk.remote_form import history_form, node_form, standing_form, submission_form
from tenure.store.records import Divergence, Edge, Subject, Template

#: What a uid of an object of this class looks like to the outside.
_OWN: dict[type, str] = {
    Queue: euid.QUEUE, Worker: euid.WORKER, Envelope: euid.SUBJECT, Subject: euid.SUBJECT, Attempt: euid.LEASE,
    Hold: euid.HOLD, DeadLetter: euid.DEAD_LETTER, Template: euid.TEMPLATE, Principal: euid.PRINCIPAL,
    AccessToken: euid.ACCESS_TOKEN, RunRow: euid.RUN, WorkflowRow: euid.WORKFLOW,
    ScheduleRow: euid.SCHEDULE, SubscriptionRow: euid.SUBSCRIPTION, EventDeadLetter: euid.EVENT_DEAD_LETTER,
}  # fmt: skip
#: What a uid under this name looks like, wherever it stands.
_NAMED = {
    "subject": euid.SUBJECT, "thread": euid.SUBJECT, "worker": euid.WORKER, "lease": euid.LEASE, "tenant": euid.TENANT,
    "last_record": euid.RECORD, "record": euid.RECORD, "hold": euid.HOLD, "dead_letter": euid.DEAD_LETTER,
    "ended": euid.LEASE, "outputs": euid.SUBJECT, "leases": euid.LEASE, "attempt": euid.LEASE,
    "principal": euid.PRINCIPAL, "owner": euid.PRINCIPAL, "access_token": euid.ACCESS_TOKEN,
    "next_before": euid.SUBJECT, "barred_workers": euid.WORKER, "barred_principals": euid.PRINCIPAL,
}  # fmt: skip
#: The same for fields of objects alone: as keys of data these words may mean anything.
_FIELDS = {
    "run": euid.RUN, "parent_run": euid.RUN, "replay_of": euid.RUN, "retry_of": euid.RUN, "children": euid.RUN,
    "repaired": euid.RUN, "orphans": euid.RUN, "corrupt": euid.RUN, "root": euid.SUBJECT, "workflow": euid.WORKFLOW,
    "subscription": euid.SUBSCRIPTION,
}  # fmt: skip
#: What users give and get back as it was: what a key means there is theirs to say.
_OF_USERS = frozenset({"properties", "result", "input", "output", "value", "schema", "definition"})
_HIDDEN = frozenset({"head", "payload_hash", "position"})
#: The ends of an edge by its relation: S1's names say what stands at each.
_ENDS = {
    "subject": euid.SUBJECT, "lease": euid.LEASE, "record": euid.RECORD, "worker": euid.WORKER, "actor": euid.WORKER,
    "queue": euid.QUEUE, "hold": euid.HOLD, "letter": euid.DEAD_LETTER,
}  # fmt: skip
_PARENTS = ("subject", "worker", "queue", "lease", "record", "actor")


def public(value: Any) -> Any:
    """``value`` as plain data. uids become EUIDs, times ISO 8601 in UTC, digests hexadecimal."""
    for kind, form in _FORMS:
        if isinstance(value, kind):
            return form(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    return value


def edge_ends(edge: Edge) -> tuple[str, str]:
    """The EUIDs at both ends of an edge."""
    words = edge.relation.split("_")
    parent = _ENDS[words[1]] if len(words) > 2 and words[1] in _PARENTS else euid.SUBJECT
    child = _ENDS.get(words[-1], euid.SUBJECT)
    return euid.format_euid(parent, edge.parent), euid.format_euid(child, edge.child)


def _fields(value: Any) -> dict[str, Any]:
    return _described(type(value), {field.name: getattr(value, field.name) for field in fields(value)})


def _described(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, inner in values.items():
        if name in _HIDDEN:
            continue
        if name == "uid" and kind in _OWN:
            shown["euid"] = euid.format_euid(_OWN[kind], inner)
        elif kind is ScheduleRow and name == "spec":
            shown[name] = inner
        elif name in _OF_USERS:
            shown[name] = _of_users(inner)
        elif name in _FIELDS:
            shown[name] = _euids(_FIELDS[name], inner)
        elif kind in (Delivery, EventDeadLetter) and name == "thread":
            shown[name] = euid_of_thread(values["type"] or "", inner)
        elif kind is Fact and name == "lease" and inner is not None:
            shown[name] = euid.format_euid(euid.LEASE, attempt_of(inner))
        elif name == "first":  # of a report: by kind of divergence
            shown[name] = [_fields(divergence) for divergence in inner.values()]
        elif kind is Divergence and name == "evidence":
            shown[name] = {key: _named(key, each) if key != "uid" else each for key, each in inner.items()}
        else:
            shown[name] = _named(name, inner)
    return shown


def _of_users(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _of_users(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_of_users(inner) for inner in value]
    return public(value)


def _named(name: str, value: Any) -> Any:
    if name in _OF_USERS:
        return _of_users(value)
    prefix = _NAMED.get(name)
    return public(value) if prefix is None else _euids(prefix, value)


def _euids(prefix: str, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return euid.format_euid(prefix, value)
    if isinstance(value, list | tuple | set | frozenset):
        return [euid.format_euid(prefix, v) if isinstance(v, int) else public(v) for v in value]
    return public(value)


def _thread(thread: SubjectThread) -> dict[str, Any]:
    return {
        "envelope": _envelope(thread.envelope),
        "attempts": [public(a) for a in sorted(thread.attempts.values(), key=lambda a: a.uid)],
        "holds": [public(h) for h in sorted(thread.holds.values(), key=lambda h: h.uid)],
        "dead_letters": [public(d) for d in sorted(thread.dead_letters.values(), key=lambda d: d.uid)],
        "outputs": [
            {"record": euid.format_euid(euid.RECORD, r), "subject": euid.format_euid(euid.SUBJECT, s)}
            for r, s in sorted(thread.outputs)
        ],
    }  # fmt: skip


def _standing(standing: Standing) -> dict[str, Any]:
    thread = standing.situation.thread
    return {
        "subject": _fields(standing.subject),
        "execution": _envelope(thread.envelope),
        "leases": [public(a) for a in thread.live_attempts],
        "holds": [public(h) for h in thread.active_holds],
        "dead_letter": public(thread.open_dead_letter),
        "visible": not any(reason.blocking for reason in standing.reasons),
        "reasons": [reason.as_dict() for reason in standing.reasons],
        "at": instant(standing.now),
    }


def _edge(edge: Edge) -> dict[str, Any]:
    parent, child = edge_ends(edge)
    return {"parent": parent, "child": child, "relation": edge.relation}


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {"record": euid.format_euid(euid.RECORD, record_of(attempt.uid)), **_fields(attempt)}


def _envelope(envelope: Envelope) -> dict[str, Any]:
    return {**_fields(envelope), "terminal": envelope.terminal}


def _model(model: BaseModel) -> dict[str, Any]:
    return _described(type(model), {name: getattr(model, name) for name in type(model).model_fields})


#: The first that fits counts.
_FORMS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (ActionResult, lambda result: result.as_dict() | {"replayed": result.replayed}),
    (Standing, _standing),
    (Edge, _edge),
    (Envelope, _envelope),
    (Attempt, _attempt),
    (SubjectThread, _thread),
    (NodeStanding, node_form),
    (SubmissionStanding, standing_form),
    (SubmissionHistory, history_form),
    (SubmissionRow, submission_form),
    (Contract, lambda contract: contract.model_dump(mode="json")),
    (BaseModel, _model),
    (Reason, lambda reason: reason.as_dict()),
    (datetime, instant),
    (Enum, lambda member: member.value),
    (bytes, lambda digest: digest.hex()),
    (Mapping, lambda mapping: {str(key): _named(str(key), inner) for key, inner in mapping.items()}),
    (str, lambda text: text),
    ((Sequence, set, frozenset), lambda values: [public(inner) for inner in values]),
)
