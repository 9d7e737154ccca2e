"""Workers: one for each key, their status, their incarnations (S1 sections 2.3, 5.2 and 5.3)."""

from __future__ import annotations

import pytest

from tenure.model.states import WorkerStatus
from tenure.testing.store_contract.bench import Bench


def test_registering_a_key_again_takes_the_worker_over(bench: Bench) -> None:
    first = bench.worker("w", capabilities=("old",))
    bench.later(5)

    second = bench.worker("w", capabilities=("new",))

    assert (second.uid, second.incarnation, second.capabilities) == (first.uid, 2, ("new",))
    assert second.heartbeat_at == bench.now
    assert [w.uid for w in bench.workers_all()] == [first.uid]


def test_registration_is_told_by_a_fact(bench: Bench) -> None:
    worker = bench.worker("w", capabilities=("wetlab.extraction",))
    bench.worker("w")

    facts = bench.facts(worker.uid)

    assert [f.data["incarnation"] for f in facts] == [1, 2]
    assert facts[0].data["spec"]["capabilities"] == ["wetlab.extraction"]


@pytest.mark.parametrize("named", [False, True], ids=["from the queue", "one subject"])
def test_former_incarnation_cannot_claim(bench: Bench, named: bool) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    former = bench.worker("w")
    bench.worker("w")

    refused = bench.error(bench.claim, former, "q", subject=subject if named else None)

    assert (refused.code, refused.evidence) == ("worker_superseded", {"incarnation": 1, "current": 2})


def test_former_incarnation_cannot_beat(bench: Bench) -> None:
    former = bench.worker("w")
    bench.worker("w")

    assert bench.error(bench.heartbeat_worker, former, incarnation=1).code == "worker_superseded"


def test_former_incarnation_cannot_renew(bench: Bench) -> None:
    bench.define_queue("q")
    bench.subject()
    held = bench.run_it(bench.worker("w"))
    bench.worker("w")

    assert bench.error(bench.renew, held).code == "worker_superseded"


def test_leases_of_a_former_incarnation_run_out(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject()
    bench.run_it(bench.worker("w"))
    newest = bench.worker("w")
    bench.later(61)

    assert bench.take(newest).subject == subject


def test_former_incarnation_may_complete_while_its_lease_lasts(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject()
    held = bench.run_it(bench.worker("w"))
    bench.worker("w")

    bench.complete(held)

    assert bench.state(subject) == "COMPLETED"


def test_heartbeat_keeps_a_worker_online(bench: Bench) -> None:
    worker = bench.worker("w", heartbeat_ttl_seconds=60)
    bench.later(59)
    bench.heartbeat_worker(worker, incarnation=1)
    bench.later(59)
    beating = bench.workers_all()[0].effective_status(bench.now)
    bench.later(1)

    assert (beating, bench.workers_all()[0].effective_status(bench.now)) == (WorkerStatus.ONLINE, WorkerStatus.OFFLINE)


def test_heartbeat_may_tell_of_an_error(bench: Bench) -> None:
    worker = bench.worker()
    bench.later(3)

    bench.heartbeat_worker(worker, incarnation=1, error_class="OSError")
    failed_at = bench.now
    bench.later(3)
    bench.heartbeat_worker(worker, incarnation=1)

    known = bench.workers_all()[0]
    assert (known.last_error_class, known.last_error_at, known.heartbeat_at) == ("OSError", failed_at, bench.now)


def test_heartbeat_is_telemetry_and_no_fact(bench: Bench) -> None:
    worker = bench.worker()
    bench.heartbeat_worker(worker, incarnation=1)

    assert bench.types(worker.uid) == ["worker.registered"]


def test_heartbeat_of_an_unknown_worker_finds_nothing(bench: Bench) -> None:
    bench.worker()

    assert bench.error(bench.heartbeat_worker, 2, incarnation=1).code == "not_found"


@pytest.mark.parametrize("change", ["drain_worker", "disable_worker", "retire_worker"])
def test_worker_that_is_not_online_claims_nothing(bench: Bench, change: str) -> None:
    bench.define_queue("q")
    bench.subject()
    worker = bench.worker()

    getattr(bench, change)(worker, reason="cleaning")

    assert bench.error(bench.claim, worker, "q").code == "worker_not_accepting"


def test_draining_worker_finishes_what_it_holds(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    worker = bench.worker()
    held = bench.run_it(worker)
    bench.drain_worker(worker)

    bench.heartbeat_worker(worker, incarnation=1)
    bench.renew(held)
    bench.complete(held)

    assert bench.state(subject) == "COMPLETED"


@pytest.mark.parametrize("change", ["disable_worker", "retire_worker"])
def test_disabled_worker_cannot_renew_but_may_complete(bench: Bench, change: str) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    worker = bench.worker()
    held = bench.run_it(worker)
    getattr(bench, change)(worker)

    refused = bench.error(bench.renew, held)
    bench.complete(held)

    assert (refused.code, bench.state(subject)) == ("worker_not_accepting", "COMPLETED")


@pytest.mark.parametrize("change", ["drain_worker", "disable_worker"])
def test_enabled_worker_claims_again(bench: Bench, change: str) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    worker = bench.worker()
    getattr(bench, change)(worker)

    bench.enable_worker(worker)

    assert bench.take(worker).subject == subject


def test_retired_worker_is_gone_until_it_registers_again(bench: Bench) -> None:
    worker = bench.worker()
    bench.retire_worker(worker, reason="scrapped")
    refused = (
        bench.error(bench.enable_worker, worker).code,
        bench.error(bench.heartbeat_worker, worker, incarnation=1).code,
    )
    gone = bench.workers_all()

    again = bench.worker()

    assert (refused, gone) == (("invalid_transition", "worker_superseded"), [])
    assert (again.uid, again.status, again.incarnation) == (worker.uid, WorkerStatus.ONLINE, 2)


def test_disabled_worker_stays_disabled_when_it_registers_again(bench: Bench) -> None:
    bench.define_queue("q")
    bench.subject()
    bench.disable_worker(bench.worker(), reason="out of calibration")

    again = bench.worker()

    assert (again.status, again.disabled_reason) == (WorkerStatus.DISABLED, "out of calibration")
    assert bench.error(bench.claim, again, "q").code == "worker_not_accepting"


def test_drained_worker_is_online_when_it_registers_again(bench: Bench) -> None:
    bench.drain_worker(bench.worker())

    assert bench.worker().status is WorkerStatus.ONLINE


def test_status_is_told_by_facts(bench: Bench) -> None:
    worker = bench.worker()
    for change in ("drain_worker", "disable_worker", "enable_worker", "retire_worker"):
        getattr(bench, change)(worker, reason="exercise")

    assert bench.types(worker.uid) == [
        "worker.registered", "worker.draining", "worker.disabled", "worker.enabled", "worker.retired",
    ]  # fmt: skip
