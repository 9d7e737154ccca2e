"""Facts as CloudEvents: the attributes of the standard, and of the data what is registered as safe."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from tenure.model import euid
from tenure.model.cloud_event import CloudEvent, Leaving, cloud_event
from tenure.model.fact import Fact
from tenure.model.fact_types import REGISTRY
from tenure.model.states import State

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def told(type_: str = "execution.failed", **fields: Any) -> Fact:
    given: dict[str, Any] = {
        "state": State.FAILED_TERMINAL,
        "revision": 4,
        "queue_key": "q",
        "lease": 2049,
        "worker": 1026,
    }
    return Fact(1024, 3, type_, NOON, 1, "user:ada", **(given | fields))


def left(fact: Fact) -> tuple[CloudEvent, dict[str, Any]]:
    kind = REGISTRY[fact.type]
    event = cloud_event(fact, Leaving(kind.safe, kind.event_id), "lab", "/tenure/lab")
    return event, json.loads(event.body)


def test_it_has_the_attributes_of_the_standard() -> None:
    event, document = left(told())
    assert {name: value for name, value in document.items() if name != "data"} == {
        "specversion": "1.0", "id": event.id, "source": "/tenure/lab", "type": "tenure.execution.failed",
        "subject": event.subject, "time": "2026-01-05T12:00:00.000000+00:00", "datacontenttype": "application/json",
        "tenant": "lab", "sequence": "3",
    }  # fmt: skip
    assert (event.id, event.subject) == (f"{event.subject}/3", euid.format_euid("SX", 1024))
    assert event.type == document["type"]


def test_of_the_data_only_what_is_registered_as_safe_leaves() -> None:
    secretive = {
        "error_class": "BUG",
        "error_code": "E1",
        "dead_letter": 3072,
        "set": {"note": "Jane Doe"},
        "more": "Jane",
    }
    _, document = left(told(data=secretive, idempotency_key="jane-doe", correlation_id="jane", trace_id="t"))
    assert document["data"] == {
        "state": "FAILED_TERMINAL", "revision": 4, "queue_key": "q", "error_class": "BUG", "error_code": "E1",
        "lease": euid.format_euid("LX", 2048), "worker": euid.format_euid("WX", 1026),
        "dead_letter": euid.format_euid("DX", 3072),
    }  # fmt: skip
    assert "ane" not in json.dumps(document)


def test_the_reason_that_somebody_wrote_stays() -> None:
    fact = told("hold.placed", data={"hold": 4096, "code": "QC", "reason": "Jane Doe withdrew"})
    _, document = left(fact)
    assert document["data"]["code"] == "QC"
    assert "Jane" not in json.dumps(document)


def test_the_id_is_of_the_fact_and_of_no_other() -> None:
    ids = [left(told(data=None))[0].id, left(told())[0].id]
    assert len(set(ids)) == 1
    other = told()
    other.seq = 4
    assert left(other)[0].id not in ids


def test_a_type_may_be_wholly_its_data() -> None:
    fact = told("execution.failed", data={"projection_event_id": "p-1", "job": "j", "failure": {"message": "oom"}})
    event = cloud_event(fact, Leaving((), "projection_event_id"), "lab", "/tenure/lab")
    document = json.loads(event.body)
    assert (event.id, document["id"], document["data"]) == ("p-1", "p-1", fact.data)
