"""Who may claim (S1 section 3.5)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tenure.model.eligibility import refusal, serves, takes_claims
from tenure.model.states import WorkerStatus, WorkerType
from tests.model.scene import T0, queue, worker


def code(worker_: dict[str, Any], queue_: dict[str, Any], live: int = 0, incarnation: int | None = None) -> str | None:
    error = refusal(worker(**worker_), queue(**queue_), live, incarnation)
    return error.code if error is not None else None


def test_an_online_worker_may_claim_from_an_open_queue() -> None:
    assert code({}, {}) is None


@pytest.mark.parametrize(
    ("worker_", "queue_", "expected"),
    [
        ({"status": "DRAINING"}, {}, "worker_not_accepting"),
        ({"status": "DISABLED"}, {}, "worker_not_accepting"),
        ({"status": "RETIRED"}, {}, "worker_not_accepting"),
        ({"drain_requested": True}, {}, "worker_not_accepting"),
        ({}, {"enabled": False}, "queue_disabled"),
        ({}, {"manual_only": True}, "queue_manual_only"),
        ({"worker_type": "INSTRUMENT_ADAPTER"}, {"manual_only": True}, "queue_manual_only"),
        ({"capabilities": ("a",)}, {"required_worker_capabilities": ("a", "b")}, "capability_mismatch"),
        ({}, {"site_scope": ("sfo",)}, "scope_mismatch"),
        ({"site_scope": ("muc",)}, {"site_scope": ("sfo",)}, "scope_mismatch"),
        ({"platform_scope": ("x",)}, {"platform_scope": ("y",)}, "scope_mismatch"),
        ({"assay_scope": ("x",)}, {"assay_scope": ("y",)}, "scope_mismatch"),
    ],
)
def test_each_condition_of_the_specification_refuses(worker_: Any, queue_: Any, expected: str) -> None:
    assert code(worker_, queue_) == expected


@pytest.mark.parametrize(
    ("worker_", "queue_"),
    [
        ({"worker_type": "HUMAN_SESSION"}, {"manual_only": True}),
        ({"capabilities": ("a", "b", "c")}, {"required_worker_capabilities": ("b", "a")}),
        ({"site_scope": ("muc",)}, {}),
        ({"site_scope": ("muc", "sfo")}, {"site_scope": ("sfo", "lhr")}),
        ({"status": "OFFLINE"}, {}),
    ],
)
def test_what_fits_may_claim(worker_: Any, queue_: Any) -> None:
    assert code(worker_, queue_) is None


def test_a_worker_at_its_limit_may_not_claim() -> None:
    limits = {"max_concurrent_leases": 2}
    assert [code(limits, {}, live) for live in (1, 2, 3)] == [None, "worker_at_limit", "worker_at_limit"]


def test_only_the_newest_incarnation_may_claim() -> None:
    assert [code({"incarnation": 3}, {}, 0, i) for i in (2, 3, 4, None)] == [
        "worker_superseded", None, "worker_superseded", None,
    ]  # fmt: skip


def test_a_refusal_names_what_is_missing() -> None:
    error = refusal(worker(capabilities=("a",)), queue(required_worker_capabilities=("a", "b", "c")), 0)
    assert error is not None
    assert error.evidence == {"missing": ["b", "c"]}
    assert "b, c" in error.message


def test_a_refusal_of_a_former_incarnation_names_both() -> None:
    error = refusal(worker(incarnation=3), queue(), 0, incarnation=2)
    assert error is not None
    assert error.evidence == {"incarnation": 2, "current": 3}


def test_a_refusal_without_a_reason_invents_none() -> None:
    errors = [refusal(worker(status=WorkerStatus.DISABLED), queue(), 0), refusal(worker(), queue(enabled=False), 0)]
    assert [e.message for e in errors if e] == [
        "The worker is DISABLED and takes no new work.",
        "Queue 'q' is disabled.",
    ]


def test_a_refusal_names_both_scopes() -> None:
    error = refusal(worker(site_scope=("muc",)), queue(site_scope=("sfo",)), 0)
    assert error is not None
    assert error.evidence == {"queue": ["sfo"], "worker": ["muc"]}


def test_a_refusal_gives_the_reason_for_which_worker_or_queue_was_disabled() -> None:
    stopped = worker(status=WorkerStatus.DISABLED, disabled_reason="smells burnt")
    errors = [refusal(stopped, queue(), 0), refusal(worker(), queue(enabled=False, disabled_reason="audit"), 0)]
    assert ["smells burnt" in str(errors[0]), "audit" in str(errors[1])] == [True, True]


def test_a_worker_serves_a_queue_whatever_the_moment() -> None:
    busy = worker(status=WorkerStatus.DISABLED, drain_requested=True)
    assert serves(busy, queue(enabled=False))


def test_a_worker_without_the_capability_does_not_serve() -> None:
    assert not serves(worker(), queue(required_worker_capabilities=("a",)))


def test_a_worker_is_online_until_its_heartbeat_is_stale() -> None:
    beating = worker(heartbeat_ttl_seconds=60)
    times = [T0 + timedelta(seconds=s) for s in (0, 59.999999, 60)]
    assert [takes_claims(beating, t) for t in times] == [True, True, False]


@pytest.mark.parametrize("status", ["DRAINING", "DISABLED", "RETIRED"])
def test_a_worker_that_stopped_takes_no_claims_although_it_beats(status: str) -> None:
    assert not takes_claims(worker(status=status), T0)
    assert worker(status=status).effective_status(T0 + timedelta(days=1)) == status


def test_a_stale_worker_is_offline_by_computation() -> None:
    assert worker().effective_status(T0 + timedelta(seconds=60)) is WorkerStatus.OFFLINE


def test_a_worker_tells_its_specification_and_nothing_of_its_state() -> None:
    assert "status" not in worker().spec()
    assert worker(worker_type=WorkerType.HUMAN_SESSION).spec()["worker_type"] == "HUMAN_SESSION"


def test_a_worker_serves_the_queues_that_it_names_and_any_where_it_names_none() -> None:
    assert [serves(worker(queues=named), queue()) for named in ((), ("q", "r"), ("r",))] == [True, True, False]


def test_a_worker_may_claim_from_a_queue_that_it_does_not_name() -> None:
    assert code({"queues": ("r",)}, {}) is None
