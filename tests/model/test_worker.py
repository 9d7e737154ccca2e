"""Workers: registering, draining, disabling, retiring (S1 sections 2.3 and 5.2)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenure.model import fact_types as ft
from tenure.model.decisions.workers import decide_register, decide_status
from tenure.model.errors import InvalidTransition, PayloadTooLarge
from tenure.model.states import WorkerStatus
from tenure.model.worker import Worker, WorkerSpec, told
from tests.model.scene import T0

SPEC = WorkerSpec(worker_key="w", capabilities=("pcr",), max_concurrent_leases=3)
LATER = T0 + timedelta(minutes=5)


def registered() -> Worker:
    return decide_register(SPEC, None, 2, 1, T0, "me", b"")[0]


def moved(worker: Worker, fact_type: str, reason: str | None = None) -> Worker:
    return decide_status(worker, fact_type, reason, LATER, "me", None, b"")[0]


def test_a_new_worker_is_online_with_its_first_incarnation() -> None:
    worker, fact = decide_register(SPEC, None, 2, 1, T0, "me", b"")
    assert (worker.status, worker.incarnation, worker.revision, worker.seq) == (WorkerStatus.ONLINE, 1, 1, 1)
    assert (worker.heartbeat_at, worker.created_at, worker.capabilities) == (T0, T0, ("pcr",))
    assert (fact.type, fact.thread, fact.worker, fact.hash) == (ft.WORKER_REGISTERED, 2, 2, fact.content_hash(b""))
    assert fact.data == {"spec": worker.spec(), "incarnation": 1}


def test_registering_again_is_the_next_incarnation_of_the_same_worker() -> None:
    again, fact = decide_register(
        SPEC.model_copy(update={"max_concurrent_leases": 9}), registered(), 99, 1, LATER, "me", b"head"
    )
    assert (again.uid, again.incarnation, again.revision, again.seq) == (2, 2, 2, 2)
    assert (again.created_at, again.heartbeat_at, again.max_concurrent_leases) == (T0, LATER, 9)
    assert fact.hash == fact.content_hash(b"head")


def test_a_disabled_worker_stays_disabled_when_it_registers() -> None:
    disabled = moved(registered(), ft.WORKER_DISABLED, "smells burnt")
    again = decide_register(SPEC, disabled, 2, 1, LATER, "me", b"")[0]
    assert (again.status, again.disabled_reason) == (WorkerStatus.DISABLED, "smells burnt")


@pytest.mark.parametrize("fact_type", [ft.WORKER_DRAINING, ft.WORKER_RETIRED])
def test_a_drained_or_retired_worker_that_registers_is_online_again(fact_type: str) -> None:
    again = decide_register(SPEC, moved(registered(), fact_type), 2, 1, LATER, "me", b"")[0]
    assert (again.status, again.drain_requested, again.disabled_reason) == (WorkerStatus.ONLINE, False, None)


@pytest.mark.parametrize(
    ("fact_type", "status"),
    [
        (ft.WORKER_DRAINING, WorkerStatus.DRAINING),
        (ft.WORKER_DISABLED, WorkerStatus.DISABLED),
        (ft.WORKER_ENABLED, WorkerStatus.ONLINE),
        (ft.WORKER_RETIRED, WorkerStatus.RETIRED),
    ],
)
def test_a_worker_is_moved_and_a_fact_tells_of_it(fact_type: str, status: WorkerStatus) -> None:
    worker, fact = decide_status(registered(), fact_type, "because", LATER, "me", "k", b"head")
    assert (worker.status, worker.revision, worker.seq) == (status, 2, 2)
    assert worker.drain_requested is (status is WorkerStatus.DRAINING)
    assert (fact.type, fact.data, fact.idempotency_key, fact.at) == (fact_type, {"reason": "because"}, "k", LATER)
    assert fact.hash == fact.content_hash(b"head")


def test_only_a_stopped_worker_keeps_the_reason() -> None:
    reasons = [moved(registered(), t, "why").disabled_reason for t in (ft.WORKER_DISABLED, ft.WORKER_DRAINING)]
    assert reasons == ["why", None]


def test_an_enabled_worker_drains_no_longer() -> None:
    worker = moved(moved(registered(), ft.WORKER_DRAINING), ft.WORKER_ENABLED)
    assert (worker.status, worker.drain_requested) == (WorkerStatus.ONLINE, False)


def test_the_last_error_outlives_a_new_incarnation() -> None:
    failed = registered().model_copy(update={"last_error_at": T0, "last_error_class": "TRANSIENT_SYSTEM"})
    again = decide_register(SPEC, failed, 2, 1, LATER, "me", b"")[0]
    assert (again.last_error_at, again.last_error_class) == (T0, "TRANSIENT_SYSTEM")


def test_facts_of_a_worker_tell_who_did_it_and_which_revision_it_made() -> None:
    worker, born = decide_register(SPEC, None, 2, 1, T0, "me", b"")
    drained = decide_status(worker, ft.WORKER_DRAINING, None, LATER, "you", None, born.hash)[1]
    assert [(f.actor, f.revision, f.tenant, f.thread) for f in (born, drained)] == [("me", 1, 1, 2), ("you", 2, 1, 2)]
    assert drained.data == {}


def test_a_reason_that_is_no_signal_but_data_is_refused() -> None:
    with pytest.raises(PayloadTooLarge):
        moved(registered(), ft.WORKER_DISABLED, "x" * 11_000)


def test_a_refusal_names_the_status() -> None:
    with pytest.raises(InvalidTransition) as refused:
        moved(moved(registered(), ft.WORKER_RETIRED), ft.WORKER_DISABLED)
    assert refused.value.evidence == {"state": "RETIRED"}


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (ft.WORKER_RETIRED, ft.WORKER_ENABLED),
        (ft.WORKER_RETIRED, ft.WORKER_DRAINING),
        (ft.WORKER_RETIRED, ft.WORKER_DISABLED),
        (ft.WORKER_DISABLED, ft.WORKER_DRAINING),
    ],
)
def test_what_a_worker_cannot_become_is_refused(first: str, then: str) -> None:
    with pytest.raises(InvalidTransition):
        moved(moved(registered(), first), then)


def test_what_a_worker_does_not_say_of_itself_is_no_part_of_what_it_tells() -> None:
    said = WorkerSpec(worker_key="w", queues=("q",)).spec()
    assert said["queues"] == ["q"]
    assert not {"queues", "tasks", "workflows"} & SPEC.spec().keys()
    assert "tasks" not in said


def test_names_that_do_not_fit_into_the_fact_are_not_told() -> None:
    some, many, too_many = ([f"{n:026}" for n in range(count)] for count in (50, 120, 140))
    assert told(["b", "a", "b"], ["c"]) == [("a", "b"), ("c",)]
    assert [len(names) for names in told(some, too_many, many)] == [50, 0, 120]
    assert [len(names) for names in told(many, many, some)] == [120, 120, 0]
