"""S1 section 11.4: relationships are lineage only."""

from __future__ import annotations

from tenure.model.attempt import record_of
from tests.store.harness import Bench


def edges(bench: Bench, uid: int) -> set[tuple[int, int, str]]:
    return {(edge.parent, edge.child, edge.relation) for edge in bench.lineage(uid)}


def test_relationships_are_lineage_only(bench: Bench) -> None:
    bench.define_queue("q")
    lies = {"subject_euid": "SX-1T86", "worker_euid": "WX-1T86", "queue_key": "elsewhere", "lease_euid": None}
    subject = bench.subject(properties=lies)
    worker, queue = bench.worker(), bench.queue("q")
    held = bench.run_it(worker)

    found = edges(bench, held.lease)
    parents = {relation: parent for parent, child, relation in found if child == held.lease}
    (record,) = [child for parent, child, _ in found if parent == held.lease]

    assert parents == {
        "execution_subject_lease": subject, "execution_worker_lease": worker.uid, "execution_queue_lease": queue.uid,
    }  # fmt: skip
    assert {parent for parent, child, _ in edges(bench, record) if child == record} == {
        subject, worker.uid, queue.uid, held.lease,
    }  # fmt: skip


def test_lineage_consistency_on_claim(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    worker, queue = bench.worker(), bench.queue("q")

    lease = bench.take(worker).lease

    record = record_of(lease)
    assert edges(bench, lease) | edges(bench, record) == {
        (subject, lease, "execution_subject_lease"),
        (worker.uid, lease, "execution_worker_lease"),
        (queue.uid, lease, "execution_queue_lease"),
        (subject, record, "execution_subject_record"),
        (worker.uid, record, "execution_worker_record"),
        (queue.uid, record, "execution_queue_record"),
        (lease, record, "execution_lease_record"),
    }


def test_refused_claim_makes_no_edge(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    bench.take(bench.worker("one"), subject=subject)
    before = edges(bench, subject)

    bench.error(bench.claim, bench.worker("two"), "q", subject=subject)

    assert edges(bench, subject) == before


def test_hold_has_its_edges(bench: Bench) -> None:
    bench.define_queue("q")
    subject, queue = bench.subject(), bench.queue("q")

    hold = bench.hold(subject, reason="broken seal").data["hold"]

    assert edges(bench, hold) == {
        (subject, hold, "execution_subject_hold"), (queue.uid, hold, "execution_queue_hold"),
    }  # fmt: skip


def test_hold_placed_by_a_worker_has_an_edge_from_it(bench: Bench) -> None:
    bench.define_queue("q")
    bench.subject()
    worker = bench.worker()

    hold = bench.fail(bench.run_it(worker), error_class="BUSINESS_RULE_HOLD", error_code="QC").data["hold"]

    assert (worker.uid, hold, "execution_actor_hold") in edges(bench, hold)


def test_dead_letter_has_its_edges(bench: Bench) -> None:
    bench.define_queue("q")
    subject, queue = bench.subject(), bench.queue("q")
    held = bench.run_it(bench.worker())

    letter = bench.fail(held, retryable=False).data["dead_letter"]

    assert edges(bench, letter) == {
        (subject, letter, "execution_subject_dead_letter"),
        (queue.uid, letter, "execution_queue_dead_letter"),
        (record_of(held.lease), letter, "execution_record_dead_letter"),
    }


def test_output_has_an_edge_from_the_record_that_made_it(bench: Bench) -> None:
    bench.define_queue("q")
    output = bench.subject(None, ready=False)
    bench.subject()
    held = bench.run_it(bench.worker())

    bench.complete(held, outputs=(output,))

    assert edges(bench, output) == {(record_of(held.lease), output, "execution_record_output")}


def test_child_has_an_edge_from_its_parent(bench: Bench) -> None:
    bench.define_queue("q")
    parent = bench.subject()

    child = bench.subject(parents=(parent,))

    assert edges(bench, child) == {(parent, child, "parent")}
