"""Work that is done again by a different contributor: who did it before cannot take it (S2 section 1.4)."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from tenure.flow.engine import reading
from tenure.flow.engine.results import RunResult
from tenure.flow.engine.workflows import define_workflow
from tenure.flow.model.builder import Workflow, to, when
from tenure.model.errors import NotClaimable
from tenure.model.requests import ClaimItems
from tenure.model.worker import Worker
from tenure.sdk import operations as ops
from tests.flow.lab import FlowLab, postgres_lab, step, task
from tests.store.crowd import TOKEN
from tests.store.explained import Explained

FOR_GOOD = {"error_class": "PERMANENT_INPUT", "error_code": "E1", "error_message": "no"}


def annotation(lab: FlowLab, **fields: Any) -> RunResult:
    """A label that a reviewer may send back, to be made by somebody else, three times at most."""
    lab.define(
        step("label", "human", by_another=True, on_ok="review", **fields),
        step("review", "approval", on_error={"to": "label", "limit": 3}),
    )  # fmt: skip
    return lab.start()


def labelled(lab: FlowLab, worker: Worker, result: Any = "cat") -> int:
    """The label is made; the uid of the worker's subject."""
    (lease,) = lab.bench.claim(worker, "q", start=True)
    lab.bench.complete(lease, result=result)
    return lease.subject


def owned(lab: FlowLab, key: str, principal: int) -> Worker:
    """A worker that a principal registered through a server."""
    before = lab.bench.caller
    lab.bench.caller = replace(before, principal=principal)
    worker = lab.bench.person(key)
    lab.bench.caller = before
    return worker


def test_who_made_what_was_rejected_cannot_make_it_again(lab: FlowLab) -> None:
    ada, bob = lab.bench.person("ada"), lab.bench.person("bob")
    run = annotation(lab)
    labelled(lab, ada)
    lab.reject(run, comment="a dog")
    assert lab.bench.claim(ada, "q", start=True) == []
    assert lab.bench.claim(ada, "q", limit=50, start=True) == []
    labelled(lab, bob, "dog")
    lab.approve(run)
    assert lab.status(run) == "COMPLETED"


def test_each_time_round_bars_all_who_did_it_before(lab: FlowLab) -> None:
    people = [lab.bench.person(key) for key in ("ada", "bob", "eve")]
    run = annotation(lab)
    for worker in people:
        for other in people:
            if other is worker:
                break
            assert lab.bench.claim(other, "q", start=True) == []
        labelled(lab, worker)
        lab.reject(run)
    subject = lab.bench.queue_items("q")[0].envelope
    assert subject.barred_workers == tuple(sorted(p.uid for p in people))
    assert [lab.bench.claim(worker, "q", start=True) for worker in people] == [[], [], []]


def test_another_worker_of_the_same_principal_is_barred_too(lab: FlowLab) -> None:
    ada = lab.run(ops.create_principal, "user:ada", roles=["worker_human"]).uid
    bob = lab.run(ops.create_principal, "user:bob", roles=["worker_human"]).uid
    run = annotation(lab)
    labelled(lab, owned(lab, "ada/desk", ada))
    lab.reject(run)
    assert lab.bench.claim(owned(lab, "ada/phone", ada), "q", start=True) == []
    assert len(lab.bench.claim(owned(lab, "bob/desk", bob), "q", start=True)) == 1


def test_who_failed_at_it_cannot_try_again_and_who_gave_it_back_can(lab: FlowLab) -> None:
    ada, bob = lab.bench.person("ada"), lab.bench.person("bob")
    lab.define(step("label", "human", by_another=True, on_error={"to": "label", "limit": 3}))
    lab.start()
    (given_back,) = lab.bench.claim(bob, "q", start=True)
    lab.bench.release_lease(given_back)
    (lease,) = lab.bench.claim(ada, "q", start=True)
    lab.bench.fail(lease, **FOR_GOOD)
    assert lab.bench.claim(ada, "q", start=True) == []
    assert len(lab.bench.claim(bob, "q", start=True)) == 1


def test_all_who_had_a_slot_of_it_are_barred(lab: FlowLab) -> None:
    people = [lab.bench.person(key) for key in ("ada", "bob", "eve")]
    run = annotation(lab, slots=2)
    labelled(lab, people[0])
    labelled(lab, people[1])
    lab.reject(run)
    assert [len(lab.bench.claim(worker, "q", start=True)) for worker in people] == [0, 0, 1]


def test_the_items_of_a_map_bar_each_who_did_them(lab: FlowLab) -> None:
    ada, bob = lab.bench.person("ada"), lab.bench.person("bob")
    lab.define(
        step("label", "map", over=[1, 2], each={"performer": "human", "by_another": True, "input": "$.item"}, on_ok="review"),
        step("review", "approval", on_error={"to": "label", "limit": 1}),
    )  # fmt: skip
    run = lab.start()
    first = labelled(lab, ada)
    second = labelled(lab, bob)
    assert first != second
    lab.reject(run)
    for worker, item in ((ada, "label[1]#2"), (bob, "label[0]#2")):
        (lease,) = lab.bench.claim(worker, "q", limit=10, start=True)
        assert (
            lab.bench.run(lab.storage.runnables_of(lab.bench.tenant, [lease.subject]))[lease.subject].runnable_key
            == item
        )


def test_without_by_another_the_same_worker_may_do_it_again(lab: FlowLab) -> None:
    lab.define(
        task("label", on_ok="review"),
        step("review", "approval", on_error={"to": "label", "limit": 1}),
    )
    run = lab.start()
    lab.work()
    lab.reject(run)
    lab.work()


def test_why_tells_who_did_it_before_and_whether_somebody_else_can_take_it(lab: FlowLab) -> None:
    ada = lab.bench.person("ada")
    lab.bench.retire_worker(lab.worker)
    run = annotation(lab)
    labelled(lab, ada)
    lab.reject(run)
    subject = lab.bench.queue_items("q")[0].envelope.uid
    alone = next(r for r in lab.bench.why(subject) if r.code == "by_another")
    assert alone.blocking
    assert [w["worker_key"] for w in alone.evidence["barred"]] == ["ada"]
    assert alone.remedy == "Start a worker that is somebody else's, or let another person take it."
    stuck = next(r for r in lab.run(reading.explain, run.run) if r.code == "runnable_blocked")
    assert stuck.evidence["why"][-1]["code"] == "by_another"
    lab.bench.person("bob")
    both = {r.code: r for r in lab.bench.why(subject)}
    assert not both["by_another"].blocking
    assert [w["worker_key"] for w in both["claimable_by"].evidence["workers"]] == ["bob"]


def test_asking_for_the_very_subject_is_refused_with_the_reason(lab: FlowLab) -> None:
    ada = lab.bench.person("ada")
    run = annotation(lab)
    labelled(lab, ada)
    lab.reject(run)
    subject = lab.bench.queue_items("q")[0].envelope.uid
    with pytest.raises(NotClaimable) as refused:
        lab.bench.claim(ada, "q", subject=subject, start=True)
    assert [reason["code"] for reason in refused.value.evidence["reasons"]] == ["by_another"]


def test_its_first_fact_tells_who_is_barred_and_the_envelope_follows_from_it(lab: FlowLab) -> None:
    ada = lab.bench.person("ada")
    run = annotation(lab)
    labelled(lab, ada)
    lab.reject(run)
    subject = lab.bench.queue_items("q")[0].envelope.uid
    first = lab.bench.history(subject).facts[0]
    assert first.data["set"]["barred_workers"] == [ada.uid]
    lab.bench.requeue(subject, queue_key="q", reason="look again")
    assert lab.bench.envelope(subject).barred_workers == (ada.uid,)
    assert lab.bench.claim(ada, "q", start=True) == []


def test_a_bar_cannot_be_lifted_behind_the_facts(migrated_database: str) -> None:
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        lab = postgres_lab(connection)
        ada = lab.bench.person("ada")
        run = annotation(lab)
        labelled(lab, ada)
        lab.reject(run)
        with pytest.raises(psycopg.Error, match="is refused"):
            connection.execute("update tenure.execution set barred_workers = null where barred_workers is not null")


def test_of_many_at_once_nobody_takes_what_they_did_before(migrated_database: str) -> None:
    """Ten people claim all of 60 units again and again, at the same time, one by one and in batches."""
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        lab = postgres_lab(connection)
        again = to("label", when("$.outputs.label.again", "eq", True), limit=5)
        lab.run(
            define_workflow,
            Workflow("order", queue="q").step("label", "human", by_another=True, routes=[again]).define(),
        )
        for _ in range(60):
            lab.start()
        people = [lab.bench.person(f"p{n}") for n in range(10)]
        errors: list[BaseException] = []
        threads = [threading.Thread(target=_label_all, args=(lab, people, n, errors)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        done = connection.execute(
            """select r.run, count(*), count(distinct a.worker) from tenure.runnable r
            join tenure.attempt a on a.subject = r.subject where a.record_status = 'SUCCEEDED' group by 1"""
        ).fetchall()
        assert len(done) == 60
        assert {(units, workers) for _, units, workers in done} == {(6, 6)}
        report = lab.verified()
        assert report.clean, report.first


def _label_all(lab: FlowLab, people: list[Worker], number: int, errors: list[BaseException]) -> None:
    try:
        with lab.bench.beside() as bench:
            bench.caller = replace(bench.caller, followers=(lab.flow,))
            idle = 0
            while idle < 3:
                idle += 1
                for turn, worker in enumerate(people[number:] + people[:number]):
                    for lease in bench.claim(worker, "q", limit=1 + 4 * (turn % 2), start=True):
                        bench.complete(lease, result={"again": True})
                        idle = 0
    except BaseException as error:
        errors.append(error)


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
def test_passing_over_what_one_may_not_take_reads_the_index_alone(migrated_database: str, mode: str) -> None:
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        lab = postgres_lab(connection)
        ada, bob = lab.bench.person("ada"), lab.bench.person("bob")
        lab.define(
            step("label", "human", by_another=True, on_ok="review"),
            step("review", "approval", on_error={"to": "label", "limit": 3}),
        )  # fmt: skip
        for _ in range(20):
            run = lab.start()
            labelled(lab, ada)
            lab.reject(run)
        watched = Explained(migrated_database, mode)
        for worker, limit, taken in ((ada, 1, 0), (ada, 20, 0), (bob, 1, 1), (bob, 20, 19)):
            asked = ClaimItems(worker=worker.uid, queue_key="q", limit=limit, token_hash=TOKEN, start=True)
            (_, leases), ran = watched.run(
                lab.bench.store.claim(lab.bench.tenant, asked, "user:ada", None, past_gate=True)
            )
            assert len(leases) == taken
            plans = [plan for each in ran for plan in (each.plan, *each.nested)]
            assert plans
            assert [misdeed for plan in plans for misdeed in plan.misdeeds()] == []
            read = set[str]().union(*(plan.indexes("execution") for plan in plans))
            assert read <= {"claimable", "deferred", "execution_pkey"}
        watched.close()
