"""Queue policies and what may be changed of them (S1 section 2.1)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from tenure.model import fact_types as ft
from tenure.model.decisions.queues import decide_define, decide_retire, decide_update
from tenure.model.errors import InvalidRequest, PayloadTooLarge, RevisionConflict
from tenure.model.json_text import payload_hash
from tenure.model.queue import MUTABLE, Queue, QueuePolicy
from tests.model.scene import T0


@pytest.mark.parametrize(
    "policy",
    [
        {"queue_key": ""},
        {"queue_key": "q q"},
        {"eligible_states": ("RUNNING",)},
        {"eligible_states": ("READY", "COMPLETED")},
        {"subject_template_codes": ()},
        {"lease_ttl_seconds": 0},
        {"max_attempts_default": 0},
        {"dispatch_priority": 2**31},
        {"retry_policy": {"mode": "FIBONACCI"}},
        {"retry_policy": {"backoff_factor": 0.5}},
        {"retry_policy": {"jitter": 1.1}},
        {"retry_policy": {"initial_delay_seconds": -1}},
        {"site_scope": ("",)},
        {"colour": "red"},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(policy: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        QueuePolicy(**{"queue_key": "q"} | policy)


def test_a_policy_has_the_defaults_of_the_specification() -> None:
    policy = QueuePolicy(queue_key="q")
    assert policy.model_dump(mode="json") == {
        "queue_key": "q", "display_name": "", "enabled": True, "manual_only": False, "operator_visible": True,
        "dispatch_priority": 100, "subject_template_codes": ["task/job/1.0", "flow/step/1.0"],
        "eligible_states": ["READY", "FAILED_RETRYABLE"], "required_worker_capabilities": [], "site_scope": [],
        "platform_scope": [], "assay_scope": [], "lease_ttl_seconds": 900, "max_attempts_default": 5,
        "retry_policy": {
            "mode": "EXPONENTIAL_BACKOFF", "initial_delay_seconds": 60, "backoff_factor": 2.0,
            "max_delay_seconds": 3600, "jitter": 0,
        },
        "diagnostics_enabled": True, "disabled_reason": None,
    }  # fmt: skip


def test_key_and_templates_are_all_that_cannot_change() -> None:
    assert set(QueuePolicy.model_fields) - MUTABLE == {"queue_key", "subject_template_codes"}


def defined(**policy: Any) -> Queue:
    return decide_define(QueuePolicy(**{"queue_key": "q"} | policy), 10, 1, T0, "me", None)[0]


def test_defining_a_queue_tells_its_whole_policy() -> None:
    policy = QueuePolicy(queue_key="q", lease_ttl_seconds=5)
    queue, fact = decide_define(policy, 10, 1, T0, "me", "k")
    assert (queue.uid, queue.tenant, queue.revision, queue.seq, queue.created_at) == (10, 1, 1, 1, T0)
    assert (fact.thread, fact.seq, fact.type, fact.at, fact.actor) == (10, 1, ft.QUEUE_DEFINED, T0, "me")
    assert fact.data == {"policy": policy.model_dump(mode="json")}
    assert (fact.idempotency_key, fact.queue_key, fact.hash) == ("k", "q", fact.content_hash(b""))


def test_an_update_tells_what_differs_and_chains_its_fact() -> None:
    queue, fact = decide_update(defined(), {"enabled": False, "manual_only": False}, T0, "me", None, b"head")
    assert fact is not None
    assert (queue.enabled, queue.revision, queue.seq, queue.created_at) == (False, 2, 2, T0)
    assert (fact.type, fact.data, fact.revision, fact.hash) == (
        ft.QUEUE_UPDATED, {"set": {"enabled": False}}, 2, fact.content_hash(b"head"),
    )  # fmt: skip


def test_an_update_that_changes_nothing_tells_nothing() -> None:
    queue = defined()
    assert decide_update(queue, {"enabled": True}, T0, "me", None, b"") == (queue, None)


@pytest.mark.parametrize(
    "change", [{"queue_key": "p"}, {"subject_template_codes": ("x",)}, {"uid": 3}, {"colour": "red"}]
)
def test_what_cannot_change_is_refused_by_name(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        decide_update(defined(), change, T0, "me", None, b"")
    assert refused.value.evidence == {"fields": list(change)}


def test_an_update_to_a_senseless_policy_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="lease_ttl_seconds"):
        decide_update(defined(), {"lease_ttl_seconds": 0}, T0, "me", None, b"")


def test_an_update_of_another_revision_is_a_conflict() -> None:
    with pytest.raises(RevisionConflict) as refused:
        decide_update(defined(), {"enabled": False}, T0, "me", None, b"", expected_revision=2)
    assert refused.value.evidence == {"expected": 2, "actual": 1}


def test_an_update_of_the_expected_revision_is_made() -> None:
    assert decide_update(defined(), {"enabled": False}, T0, "me", None, b"", expected_revision=1)[0].revision == 2


def test_a_retired_queue_is_disabled_and_dated() -> None:
    later = T0 + timedelta(days=1)
    queue, fact = decide_retire(defined(), "replaced", later, "me", None, b"head")
    assert (queue.enabled, queue.retired_at, queue.revision, queue.seq) == (False, later, 2, 2)
    assert (fact.type, fact.data, fact.hash) == (ft.QUEUE_RETIRED, {"reason": "replaced"}, fact.content_hash(b"head"))


def test_facts_of_a_queue_tell_who_did_it_and_under_which_key() -> None:
    queue = defined()
    updated = decide_update(queue, {"enabled": False}, T0, "me", "k", b"")[1]
    retired = decide_retire(queue, "replaced", T0, "you", "l", b"")[1]
    assert updated is not None
    assert [(f.actor, f.idempotency_key, f.tenant, f.queue_key) for f in (updated, retired)] == [
        ("me", "k", 1, "q"), ("you", "l", 1, "q"),
    ]  # fmt: skip


def test_under_a_key_the_fact_has_the_hash_of_what_was_asked() -> None:
    # What was asked, not what differed: the same request again has to be told from another.
    asked = {"enabled": False, "manual_only": False}
    keyed = decide_update(defined(), asked, T0, "me", "k", b"")[1]
    free = decide_update(defined(), asked, T0, "me", None, b"")[1]
    assert keyed is not None
    assert free is not None
    assert (keyed.payload_hash, free.payload_hash) == (payload_hash(asked), None)


def test_a_policy_that_is_no_signal_but_data_is_refused() -> None:
    with pytest.raises(PayloadTooLarge):
        defined(display_name="x" * 11_000)


def test_several_fields_that_cannot_change_are_all_named() -> None:
    with pytest.raises(InvalidRequest, match="queue_key, uid of a queue cannot be changed"):
        decide_update(defined(), {"uid": 3, "queue_key": "p"}, T0, "me", None, b"")


def test_a_retired_queue_that_is_corrected_stays_retired() -> None:
    retired = decide_retire(defined(), "replaced", T0, "me", None, b"")[0]
    assert decide_update(retired, {"display_name": "old"}, T0, "me", None, b"")[0].retired_at == T0
