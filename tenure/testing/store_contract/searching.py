"""What operators look for: items that fit, subjects by what is known of them, leases by status, what waits in a queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tenure.model.euid import SUBJECT, format_euid
from tenure.model.ordering import order_key
from tenure.model.states import LeaseStatus, State
from tenure.sdk.public_form import public
from tenure.testing.store_contract.bench import Bench


@pytest.fixture
def wet(bench: Bench) -> Bench:
    """Two queues, and a worker for them."""
    bench.define_queue("q", max_attempts_default=5, retry_policy={"mode": "CONSTANT", "initial_delay_seconds": 0})
    bench.define_queue("r")
    bench.clerk = bench.worker("clerk")  # type: ignore[attr-defined]
    return bench


def paged(turn: Callable[[Any], tuple[list[Any], Any]]) -> list[Any]:
    """All that the pages hold, and that following them ends."""
    found: list[Any] = []
    rows, following = turn(None)
    for _ in range(100):
        found += rows
        if following is None:
            return found
        rows, following = turn(following)
    raise AssertionError("the pages do not end")


def items(bench: Bench, limit: int = 2, **chosen: Any) -> list[int]:
    def turn(after: Any) -> tuple[list[int], Any]:
        page = bench.chosen_items("q", limit=limit, after=after, **chosen)
        assert len(page.items) <= limit
        return [item.envelope.uid for item in page.items], page.next_after

    return paged(turn)


def subjects(bench: Bench, limit: int = 2, **chosen: Any) -> list[int]:
    def turn(before: Any) -> tuple[list[int], Any]:
        page = bench.find_subjects(limit=limit, before=before, **chosen)
        assert len(page.subjects) <= limit
        return [row.envelope.uid for row in page.subjects], page.next_before

    return paged(turn)


# Items of a queue -----------------------------------------------------------------------------------------------------
def test_items_are_chosen_by_site_platform_and_assay_in_execution_order(wet: Bench) -> None:
    low = wet.subject(site="north", platform="ont", assay="rna")
    high = wet.subject(site="north", platform="illumina", assay="rna", priority=5)
    south = wet.subject(site="south", platform="ont", priority=9)
    nowhere = wet.subject()

    assert items(wet) == [south, high, low, nowhere] == wet.visible()
    assert items(wet, site="north") == [high, low]
    assert items(wet, platform="ont") == [south, low]
    assert items(wet, assay="rna", platform="illumina") == [high]
    assert items(wet, site="north", assay="dna") == []


def test_items_are_chosen_by_state_with_what_fell_due_or_lapsed_in_its_place(wet: Bench) -> None:
    failed, lapsing = wet.subject(priority=3), wet.subject(priority=2)
    wet.fail(wet.run_it(wet.clerk), retryable=True)
    wet.later(1)
    wet.run_it(wet.clerk, subject=lapsing, ttl_seconds=5)
    ready, due = wet.subject(), wet.subject(priority=1, ready_at=wet.in_seconds(5))
    wet.later(10)

    assert items(wet, limit=1) == [failed, lapsing, due, ready] == wet.visible()
    assert items(wet, limit=1, states=[State.FAILED_RETRYABLE]) == [failed]
    assert items(wet, limit=1, states=["READY"]) == [due, ready]
    assert items(wet, limit=1, states=[State.RUNNING, State.READY]) == [lapsing, due, ready]


def test_a_page_of_chosen_items_has_what_the_queue_shows_of_each(wet: Bench) -> None:
    wet.subject(name="tube", external_ref="T-1", site="north", due_at=wet.in_seconds(60))

    (item,) = wet.chosen_items("q", site="north", limit=1).items

    assert [item] == wet.queue_items("q")
    assert wet.chosen_items("q", limit=1).next_after == order_key(item.envelope, item.eligible_at)
    assert wet.chosen_items("nowhere") == wet.chosen_items("r")


# Subjects -------------------------------------------------------------------------------------------------------------
def test_subjects_are_found_by_what_is_known_of_them_newest_first(wet: Bench) -> None:
    one = wet.subject(name="SP-1", external_ref="T-1", correlation_id="order-7")
    two = wet.subject("r", name="SP-2", external_ref="T-2", correlation_id="order-7")
    three = wet.subject(name="sp-3", correlation_id="order-8")
    four = wet.subject(None, ready=False)

    assert subjects(wet) == [four, three, two, one]
    assert subjects(wet, subject=two) == subjects(wet, subject=format_euid(SUBJECT, two)) == [two]
    assert subjects(wet, external_ref="T-1") == [one]
    assert subjects(wet, name="SP-") == [two, one]
    assert subjects(wet, name="SP-1") == [one]
    assert subjects(wet, name="") == [three, two, one]
    assert subjects(wet, limit=1, correlation_id="order-7") == [two, one]
    assert subjects(wet, queue_key="q") == [three, one]
    assert subjects(wet, states=[State.PENDING]) == [four]
    assert subjects(wet, subject=10**15) == subjects(wet, external_ref="T") == subjects(wet, name="P-") == []


def test_all_that_is_asked_for_has_to_fit(wet: Bench) -> None:
    one = wet.subject(name="SP-1", external_ref="T-1", correlation_id="order-7", priority=9)
    two = wet.subject("r", name="SP-2", correlation_id="order-7")
    wet.complete(wet.run_it(wet.clerk))

    assert subjects(wet, correlation_id="order-7", states=["COMPLETED"]) == [one]
    assert subjects(wet, name="SP", queue_key="r") == [two]
    assert subjects(wet, name="SP", correlation_id="order-7", states=["READY", "RUNNING"]) == [two]
    assert subjects(wet, external_ref="T-1", states=["READY"]) == []
    assert subjects(wet, subject=one, name="SP-2") == []


@pytest.mark.parametrize("text", ["%", "_", "100%", "a\\", "Ä", "日", "'"])
def test_what_means_something_elsewhere_is_part_of_a_name(wet: Bench, text: str) -> None:
    meant = wet.subject(name=f"{text}1")
    wet.subject(name="a1")

    assert subjects(wet, name=text) == [meant]


def test_names_beyond_latin_are_found_by_their_beginning(wet: Bench) -> None:
    names = ["Zürich", "zürich", "日本-1", "日本-2", "\U0010fffe", "z"]
    uids = dict(zip(names, (wet.subject(name=name) for name in names), strict=True))

    assert subjects(wet, name="日本") == [uids["日本-2"], uids["日本-1"]]
    assert subjects(wet, name="Z") == [uids["Zürich"]]
    assert subjects(wet, name="z") == [uids["z"], uids["zürich"]]
    assert subjects(wet, name="\U0010fffe") == [uids["\U0010fffe"]]


def test_a_found_subject_has_its_envelope_and_what_it_is_known_by(wet: Bench) -> None:
    uid = wet.subject(name="SP-1", external_ref="T-1", correlation_id="order-7")

    page = wet.find_subjects(limit=1)

    (row,) = page.subjects
    assert row.envelope == wet.envelope(uid)
    assert (row.name, row.external_ref, row.correlation_id) == ("SP-1", "T-1", "order-7")
    assert public(page)["next_before"] == format_euid(SUBJECT, uid) == public(page)["subjects"][0]["envelope"]["euid"]


def test_what_belongs_to_another_tenant_is_not_found(wet: Bench) -> None:
    uid = wet.subject(name="SP-1", external_ref="T-1", correlation_id="order-7", site="north")
    other = wet.other_tenant(f"{wet.caller.tenant_key}-other")

    for chosen in ({}, {"subject": uid}, {"external_ref": "T-1"}, {"name": "SP"}, {"correlation_id": "order-7"}):
        assert subjects(other, **chosen) == []
    assert other.chosen_items("q", site="north").items == []
    assert other.worker_loads() == []


def test_a_page_has_room_for_at_least_one(wet: Bench) -> None:
    assert wet.error(wet.find_subjects, limit=0).code == "invalid_request"
    assert wet.error(wet.chosen_items, "q", limit=0).code == "invalid_request"


# Workers, leases, and what waits for a person --------------------------------------------------------------------------
def test_workers_come_with_the_leases_that_they_hold(wet: Bench) -> None:
    idle = wet.worker("idle")
    for _ in range(3):
        wet.subject()
    wet.complete(wet.run_it(wet.clerk))
    wet.claim(wet.clerk, "q", limit=2)

    assert [(load.worker.worker_key, load.active_leases) for load in wet.worker_loads()] == [("clerk", 2), ("idle", 0)]
    assert wet.worker_loads()[1].worker == idle


def test_leases_are_listed_by_the_way_they_ended(wet: Bench) -> None:
    ended: dict[LeaseStatus, list[int]] = {status: [] for status in LeaseStatus}
    for queue in ("q", "r", "q"):
        for status in LeaseStatus:
            wet.subject(queue, name=status)
            lease = wet.take(wet.clerk, queue, ttl_seconds=600 if status is not LeaseStatus.EXPIRED else 1)
            ended[status].insert(0, lease.lease)
            if status is LeaseStatus.RELEASED:
                wet.release_lease(lease)
            elif status is LeaseStatus.COMPLETED:
                wet.start(lease)
                wet.complete(lease)
            elif status is LeaseStatus.CANCELED:
                wet.cancel(lease.subject)
            elif status is LeaseStatus.ABANDONED:
                wet.hold(lease.subject, reason="broken seal")
            elif status is LeaseStatus.EXPIRED:
                wet.later(2)
                wet.sweep()
            if status in (LeaseStatus.RELEASED, LeaseStatus.EXPIRED):
                wet.hold(lease.subject, reason="out of the way")

    def listed(status: LeaseStatus, **where: Any) -> list[int]:
        def turn(before: int | None) -> tuple[list[int], int | None]:
            page = [row.attempt.uid for row in wet.leases(status, limit=1, before=before, **where)]
            return page, page[-1] if page else None

        return paged(turn)

    for status in LeaseStatus:
        assert listed(status) == listed(status, worker=wet.clerk) == ended[status], status
        assert listed(status, queue_key="r") == ended[status][1:2], status
        assert listed(status, queue_key="q") == [ended[status][0], ended[status][2]], status


def test_dead_letters_and_holds_are_listed_by_queue(wet: Bench) -> None:
    dead, held = [], []
    for queue in ("q", "r", "q"):
        dead.append(wet.subject(queue))
        wet.fail(wet.run_it(wet.clerk, queue), retryable=False)
        held.append(wet.subject(queue))
        wet.hold(held[-1], reason="broken seal")
    wet.release_hold(held[0])
    wet.resolve_dead_letter(dead[0], reason="seen")

    def letters(**where: Any) -> list[int]:
        return [row.letter.subject for row in wet.dead_letters(**where)]

    def holds(**where: Any) -> list[int]:
        return [row.hold.subject for row in wet.holds(**where)]

    assert letters(queue_key="q") == [dead[2]]
    assert letters(queue_key="q", open_only=False) == [dead[2], dead[0]]
    assert letters(queue_key="r") == [dead[1]]
    assert letters(queue_key="nowhere") == []
    assert letters(open_only=False) == [dead[2], dead[1], dead[0]]
    assert holds(queue_key="q") == [held[2]]
    assert holds(queue_key="q", active_only=False) == [held[2], held[0]]
    assert holds(queue_key="r") == [held[1]]
    assert holds(active_only=False, limit=2) == [held[2], held[1]]
    newest = wet.holds(active_only=False)[0].hold.uid
    assert holds(queue_key="q", active_only=False, before=newest) == [held[0]]


def test_leases_that_lapsed_are_found_in_one_queue_or_in_all(wet: Bench) -> None:
    leases = []
    for queue in ("q", "r"):
        wet.subject(queue)
        leases.append(wet.take(wet.clerk, queue, ttl_seconds=5).lease)
        wet.later(1)
    wet.later(10)
    store, tenant = wet.store, wet.tenant

    assert wet.run(store.lapsed(tenant, None, 10)) == leases
    assert wet.run(store.lapsed(tenant, None, 1)) == leases[:1]
    assert wet.run(store.lapsed(tenant, "r", 10)) == leases[1:]
    assert wet.run(store.lapsed(tenant, "nowhere", 10)) == []
