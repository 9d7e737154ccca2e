"""Requests are validated before anything is touched (S1 section 7.2)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import BaseModel

from tenure.model.errors import InvalidPayload, InvalidRequest, NaiveDatetime
from tenure.model.requests import (
    ClaimItems,
    CompleteExecution,
    DeferExecution,
    DispatchExternal,
    FailExecution,
    PlaceHold,
    ReleaseLease,
    RenewLease,
    RequeueSubject,
    SubmitSubject,
    validated,
)  # fmt: skip

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
NAIVE = NOON.replace(tzinfo=None)
HOLDER: dict[str, Any] = {"lease": 2, "worker": 4, "token_hash": b"t" * 32}
CLAIM: dict[str, Any] = {"worker": 4, "queue_key": "q", "token_hash": b"t" * 32}


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (SubmitSubject, {"priority": 32768}),
        (SubmitSubject, {"priority": -32769}),
        (SubmitSubject, {"priority": 1.5}),
        (SubmitSubject, {"slots": 0}),
        (SubmitSubject, {"slots": 32001}),
        (SubmitSubject, {"max_attempts": 0}),
        (SubmitSubject, {"max_attempts": 32001}),
        (SubmitSubject, {"queue_key": ""}),
        (SubmitSubject, {"queue_key": "has space"}),
        (SubmitSubject, {"queue_key": "-leading"}),
        (SubmitSubject, {"queue_key": "q\n"}),
        (SubmitSubject, {"queue_key": "q" * 201}),
        (SubmitSubject, {"template": "näh"}),
        (SubmitSubject, {"external_ref": "tab\there"}),
        (SubmitSubject, {"external_ref": ""}),
        (SubmitSubject, {"idempotency_key": "k" * 501}),
        (SubmitSubject, {"name": "  "}),
        (SubmitSubject, {"name": "nul\x00"}),
        (SubmitSubject, {"parents": (0,)}),
        (SubmitSubject, {"unheard_of": 1}),
        (ClaimItems, CLAIM | {"limit": 0}),
        (ClaimItems, CLAIM | {"limit": 10_001}),
        (ClaimItems, CLAIM | {"ttl_seconds": 0}),
        (ClaimItems, CLAIM | {"ttl_seconds": 86400 * 365 + 1}),
        (ClaimItems, CLAIM | {"worker": 0}),
        (ClaimItems, CLAIM | {"worker": 2**63}),
        (ClaimItems, CLAIM | {"incarnation": 0}),
        (RenewLease, HOLDER | {"ttl_seconds": 0}),
        (FailExecution, HOLDER | {"retry_after_seconds": -1}),
        (FailExecution, HOLDER | {"error_class": "BAD_LUCK"}),
        (FailExecution, HOLDER | {"error_code": ""}),
        (PlaceHold, {"subject": 2, "reason": ""}),
        (PlaceHold, {"subject": 2, "reason": "r" * 2001}),
        (RequeueSubject, {"subject": 2, "priority": 40000}),
        (ReleaseLease, {"lease": 2, "worker": 4}),
    ],
)
def test_what_is_malformed_is_refused(model: type[BaseModel], values: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        validated(model, **values)
    assert refused.value.hint == "Correct the field and send it again; nothing was changed."


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (SubmitSubject, {"priority": 32767, "slots": 32000, "max_attempts": 32000}),
        (SubmitSubject, {"priority": -32768, "queue_key": "a/b.c:d@e+f_g-h", "name": "  Über "}),
        (ClaimItems, CLAIM | {"limit": 10_000, "ttl_seconds": 86400 * 365}),
        (FailExecution, HOLDER | {"retry_after_seconds": 0, "error_class": "PERMANENT_INPUT"}),
    ],
)
def test_the_edges_of_what_is_allowed_are_allowed(model: type[BaseModel], values: dict[str, Any]) -> None:
    assert validated(model, **values).model_dump().keys() >= values.keys()


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (SubmitSubject, {"ready_at": NAIVE}),
        (SubmitSubject, {"due_at": NAIVE}),
        (DispatchExternal, HOLDER | {"deadline": NAIVE}),
        (DeferExecution, HOLDER | {"until": NAIVE}),
        (RequeueSubject, {"subject": 2, "ready_at": NAIVE}),
        (CompleteExecution, HOLDER | {"ready_at": NAIVE}),
    ],
)
def test_a_time_without_zone_is_refused_with_advice(model: type[BaseModel], values: dict[str, Any]) -> None:
    with pytest.raises(NaiveDatetime) as refused:
        validated(model, **values)
    assert "datetime.now(timezone.utc)" in refused.value.hint


def test_all_problems_are_named_and_the_first_is_told() -> None:
    with pytest.raises(InvalidRequest) as refused:
        validated(SubmitSubject, priority=99999, slots=0)
    assert [p["field"] for p in refused.value.evidence["problems"]] == ["priority", "slots"]
    assert refused.value.message == "priority: Input should be less than or equal to 32767."


def test_a_refusal_does_not_repeat_what_was_sent() -> None:
    with pytest.raises(InvalidRequest) as refused:
        validated(ReleaseLease, lease=2, worker=4, token_hash="hunter2" * 100, reason=7)
    assert "hunter2" not in str(refused.value) + repr(refused.value.evidence)


def test_reasons_are_trimmed() -> None:
    assert PlaceHold(subject=2, reason="  smudged ").reason == "smudged"


# A failure can always be told -------------------------------------------------------------------------------------
def test_an_error_message_may_hold_what_no_database_can_keep() -> None:
    request = FailExecution(**HOLDER, error_message="file \udcff\x00 not found")
    assert request.error_message == "file \\udcff\\x00 not found"


def test_an_error_message_of_any_length_is_kept_up_to_its_room() -> None:
    messages = [FailExecution(**HOLDER, error_message="x" * n).error_message for n in (100_000, 100_001)]
    assert [(len(m), m[-1]) for m in messages if m] == [(100_000, "x"), (100_000, "…")]


# Payload hashes ---------------------------------------------------------------------------------------------------
def test_keys_guards_and_credentials_are_no_part_of_the_payload() -> None:
    one = CompleteExecution(**HOLDER, result=1)
    two = CompleteExecution(
        lease=6, worker=8, token_hash=b"u" * 32, result=1, idempotency_key="k", expected_state="RUNNING",
        expected_revision=3, expected_seq=5,
    )  # fmt: skip
    assert one.payload_hash() == two.payload_hash()
    assert two.payload() == {"result": 1}


@pytest.mark.parametrize("change", [{"result": 2}, {"outputs": (6,)}, {"next_queue_key": "q"}, {"ready_at": NOON}])
def test_everything_else_is_part_of_the_payload(change: dict[str, Any]) -> None:
    values = HOLDER | {"result": 1}
    assert CompleteExecution(**values).payload_hash() != CompleteExecution(**values | change).payload_hash()


def test_the_same_moment_in_another_zone_is_the_same_payload() -> None:
    east = NOON.astimezone(timezone(timedelta(hours=9)))
    assert SubmitSubject(ready_at=NOON).payload_hash() == SubmitSubject(ready_at=east).payload_hash()


def test_what_jsonb_cannot_hold_is_no_payload() -> None:
    with pytest.raises(InvalidPayload):
        SubmitSubject(properties={"x": float("nan")}).payload_hash()


# What a subject is born with --------------------------------------------------------------------------------------
def test_a_plain_subject_is_born_without_data() -> None:
    assert SubmitSubject(queue_key="q", properties={"a": 1}, name="n").born_with() is None


def test_what_differs_from_the_defaults_is_told_at_birth() -> None:
    later = NOON + timedelta(days=1)
    request = SubmitSubject(
        priority=-1, ready_at=NOON, due_at=later, max_attempts=2, next_action_key="a", site="s", platform="p",
        assay="y", slots=3,
    )  # fmt: skip
    assert request.born_with() == {
        "set": {
            "priority": -1, "ready_at": "2026-01-05T12:00:00.000000+00:00",
            "due_at": "2026-01-06T12:00:00.000000+00:00",
            "max_attempts_override": 2, "next_action_key": "a", "site": "s", "platform": "p", "assay": "y",
            "slots_total": 3, "slots_free": 3,
        }
    }  # fmt: skip


def test_properties_become_canonical_json() -> None:
    assert SubmitSubject(properties={"bb": 1, "a": None}).properties_text() == '{"a": null, "bb": 1}'
