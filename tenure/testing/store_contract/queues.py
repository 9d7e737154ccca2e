"""Which subjects a queue shows and in which order, and who may claim them (S1 sections 3.1 to 3.5)."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.model.ordering import order_key
from tenure.model.states import WorkerType
from tenure.testing.store_contract.bench import Bench


def taken(bench: Bench, worker: Any, queue_key: str = "q", **request: Any) -> list[int]:
    return [lease.subject for lease in bench.claim(worker, queue_key, limit=100, **request)]


# Order ----------------------------------------------------------------------------------------------------------------
def in_order(bench: Bench) -> list[int]:
    """Subjects of every kind, submitted in the wrong order; what they should be taken as."""
    undue = bench.subject()
    late_due = bench.subject(due_at=bench.in_seconds(500))
    ready_earlier = bench.subject(ready_at=bench.in_seconds(-30))
    early_due = bench.subject(due_at=bench.in_seconds(100))
    urgent = bench.subject(priority=5)
    lowest = bench.subject(priority=-5, due_at=bench.in_seconds(1))
    twin = bench.subject()
    bench.later(1)
    newer = bench.subject()
    return [urgent, early_due, late_due, ready_earlier, undue, twin, newer, lowest]


def test_queue_shows_its_subjects_in_execution_order(bench: Bench) -> None:
    bench.define_queue("q")

    assert in_order(bench) == bench.visible()


def test_claims_take_in_execution_order(bench: Bench) -> None:
    bench.define_queue("q")
    expected = in_order(bench)

    assert taken(bench, bench.worker()) == expected


def test_claims_one_by_one_take_in_execution_order(bench: Bench) -> None:
    bench.define_queue("q")
    expected = in_order(bench)
    worker = bench.worker()

    assert [bench.take(worker).subject for _ in expected] == expected


def test_queue_is_paged_by_order_key(bench: Bench) -> None:
    bench.define_queue("q")
    expected = in_order(bench)

    found: list[int] = []
    after = None
    while page := bench.queue_items("q", limit=3, after=after):
        found += [item.envelope.uid for item in page]
        after = order_key(page[-1].envelope, page[-1].eligible_at)

    assert found == expected


@pytest.mark.parametrize("start", [False, True], ids=["claimed", "started"])
def test_expired_work_and_new_work_are_merged_in_order(bench: Bench, start: bool) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    first = bench.subject()
    bench.take(bench.worker("crashed"), start=start)
    bench.later(30)
    before_it_lapsed = bench.subject()
    bench.later(40)
    after_it_lapsed = bench.subject()
    urgent = bench.subject(priority=1)

    expected = (
        [urgent, before_it_lapsed, first, after_it_lapsed]
        if start
        else [urgent, first, before_it_lapsed, after_it_lapsed]
    )
    assert bench.visible() == expected
    assert taken(bench, bench.worker("next")) == expected


def test_deferred_work_takes_its_place_once_it_is_due(bench: Bench) -> None:
    bench.define_queue("q")
    now, later = bench.subject(), bench.subject(ready_at=bench.in_seconds(10), priority=5)
    early = bench.visible()
    bench.later(10)

    assert (early, bench.visible()) == ([now], [later, now])
    assert taken(bench, bench.worker()) == [later, now]


def test_time_before_anything_falls_due_is_known(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    empty = bench.run(bench.store.next_due(bench.tenant, ["q"]))
    bench.subject(ready_at=bench.in_seconds(90))
    scheduled = bench.run(bench.store.next_due(bench.tenant, ["q"]))
    bench.subject()
    bench.take(bench.worker())
    lapsing = bench.run(bench.store.next_due(bench.tenant, ["q"]))

    assert (empty, scheduled, lapsing) == (None, 90, 60)


# What is visible ------------------------------------------------------------------------------------------------------
def test_queue_takes_only_states_that_it_lists(bench: Bench) -> None:
    bench.define_queue("q", eligible_states=("FAILED_RETRYABLE",))
    bench.subject()

    assert (bench.visible(), taken(bench, bench.worker())) == ([], [])


def test_queue_takes_only_subjects_within_its_scope(bench: Bench) -> None:
    bench.define_queue("q", site_scope=("sfo",), platform_scope=("illumina",), assay_scope=("wgs", "rna"))
    worker = bench.worker(site_scope=("sfo",), platform_scope=("illumina",), assay_scope=("rna",))
    inside = bench.subject(site="sfo", platform="illumina", assay="wgs")
    anywhere = bench.subject()
    for outside in ({"site": "bos"}, {"platform": "ont"}, {"assay": "dna"}):
        bench.subject(**outside)

    assert bench.visible() == [inside, anywhere]
    assert taken(bench, worker) == [inside, anywhere]


def test_pending_subject_is_not_visible_until_it_is_routed(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject(None, ready=False)

    bench.requeue(subject, queue_key="q", next_action_key="extract")

    assert (bench.visible(), bench.take(bench.worker()).item.next_action_key) == ([subject], "extract")


def test_subjects_of_a_disabled_queue_stay_in_it_but_are_not_claimed(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    bench.update_queue_policy("q", enabled=False, disabled_reason="cleaning")

    assert bench.visible() == [subject]
    assert bench.error(bench.claim, bench.worker(), "q").code == "queue_disabled"


def test_replaced_queue_does_not_take_what_it_does_not_serve(bench: Bench) -> None:
    bench.define_queue("q")
    old = bench.subject()
    bench.retire_queue("q", reason="replaced")
    bench.define_queue("q", subject_template_codes=("specimen/1.0",))
    new = bench.subject(template="specimen/1.0")

    assert bench.visible() == [new]
    assert taken(bench, bench.worker()) == [new]
    assert bench.codes(old) == ["template_not_served"]


def test_replaced_queue_takes_over_what_it_serves(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    bench.retire_queue("q", reason="replaced")
    gone = bench.codes(subject), bench.error(bench.claim, bench.worker(), "q").code
    bench.define_queue("q", lease_ttl_seconds=60)

    assert gone == (["queue_unknown"], "queue_unknown")
    assert taken(bench, bench.worker()) == [subject]


def test_work_that_a_retired_queue_left_is_finished_and_taken_over(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    finished, lost = bench.subject(), bench.subject()
    worker = bench.worker()
    one, _ = bench.claim(worker, "q", limit=2, start=True)
    bench.retire_queue("q", reason="replaced")
    bench.complete(one)
    bench.define_queue("q")
    bench.later(61)

    assert (bench.state(finished), bench.visible()) == ("COMPLETED", [lost])
    assert taken(bench, bench.worker("next")) == [lost]


def test_failed_slot_leaves_the_subject_in_its_queue(bench: Bench) -> None:
    bench.define_queue("q")
    bench.define_queue("slow")
    subject = bench.subject(slots=2)
    one, _ = bench.run_it(bench.worker("one")), bench.run_it(bench.worker("two"))

    bench.fail(one, retryable=True, next_queue_key="slow")

    assert (bench.visible("q"), bench.visible("slow")) == ([subject], [])


# Who may claim --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "policy, spec, code",
    [
        ({"manual_only": True}, {"worker_type": WorkerType.SERVICE}, "queue_manual_only"),
        ({"manual_only": True}, {"worker_type": WorkerType.INSTRUMENT_ADAPTER}, "queue_manual_only"),
        ({"manual_only": True}, {"worker_type": WorkerType.HUMAN_SESSION}, None),
        ({"required_worker_capabilities": ("a", "b")}, {"capabilities": ("a",)}, "capability_mismatch"),
        ({"required_worker_capabilities": ("a", "b")}, {"capabilities": ("c", "b", "a")}, None),
        ({"site_scope": ("sfo",)}, {"site_scope": ("bos",)}, "scope_mismatch"),
        ({"site_scope": ("sfo",)}, {}, "scope_mismatch"),
        ({"site_scope": ("sfo", "bos")}, {"site_scope": ("bos", "lhr")}, None),
        ({"platform_scope": ("illumina",)}, {"platform_scope": ("ont",)}, "scope_mismatch"),
        ({"assay_scope": ("wgs",)}, {"assay_scope": ("rna",)}, "scope_mismatch"),
        ({}, {"site_scope": ("sfo",)}, None),
        ({"enabled": False}, {}, "queue_disabled"),
    ],
)
@pytest.mark.parametrize("named", [False, True], ids=["from the queue", "one subject"])
def test_claim_is_for_those_whom_the_queue_wants(
    bench: Bench, policy: dict[str, Any], spec: dict[str, Any], code: str | None, named: bool
) -> None:
    bench.define_queue("q", **policy)
    subject = bench.subject()
    worker = bench.worker(**spec)
    which = {"subject": subject} if named else {}

    if code is None:
        assert taken(bench, worker, **which) == [subject]
    else:
        assert bench.error(bench.claim, worker, "q", **which).code == code


def test_missing_capabilities_are_named(bench: Bench) -> None:
    bench.define_queue("q", required_worker_capabilities=("a", "b", "c"))

    refused = bench.error(bench.claim, bench.worker(capabilities=("b",)), "q")

    assert refused.evidence["missing"] == ["a", "c"]


def test_claim_takes_no_more_than_the_worker_may_hold(bench: Bench) -> None:
    bench.define_queue("q")
    worker = bench.worker(max_concurrent_leases=2)
    subjects = [bench.subject() for _ in range(4)]

    first = bench.claim(worker, "q", limit=10, start=True)
    full = bench.error(bench.claim, worker, "q")
    bench.complete(first[0])

    assert [lease.subject for lease in first] == subjects[:2]
    assert full.code == "worker_at_limit"
    assert taken(bench, worker) == [subjects[2]]


def test_claim_of_one_subject_keeps_the_limit(bench: Bench) -> None:
    bench.define_queue("q")
    worker = bench.worker(max_concurrent_leases=1)
    one, two = bench.subject(), bench.subject()
    bench.take(worker, subject=one)

    assert bench.error(bench.claim, worker, "q", subject=two).code == "worker_at_limit"


def test_person_claims_the_subject_that_was_chosen(bench: Bench) -> None:
    bench.define_queue("q", manual_only=True)
    bench.subject(priority=9)
    chosen = bench.subject()

    assert bench.take(bench.person(), subject=chosen).subject == chosen


def test_subject_is_claimed_only_from_its_queue(bench: Bench) -> None:
    bench.define_queue("q")
    bench.define_queue("other")

    refused = bench.error(bench.claim, bench.worker(), "other", subject=bench.subject())

    assert (refused.code, refused.evidence) == ("state_conflict", {"expected": "other", "actual": "q"})


def test_claim_brings_all_that_the_worker_needs(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject(
        name="tube 7", external_ref="MX7", properties={"volume": 1.5}, payload_ref="file:///x", next_action_key="extract",
        priority=3, correlation_id="run-1",
    )  # fmt: skip
    worker = bench.worker()

    item = bench.run_it(worker).item

    assert (item.subject, item.worker, item.queue_key, item.attempt_number, item.slot) == (
        subject,
        worker.uid,
        "q",
        1,
        1,
    )
    assert (item.name, item.external_ref, item.properties, item.payload_ref) == (
        "tube 7",
        "MX7",
        {"volume": 1.5},
        "file:///x",
    )
    assert (item.next_action_key, item.priority, item.correlation_id, item.template) == (
        "extract",
        3,
        "run-1",
        "task/job/1.0",
    )
    assert (item.claimed_at, item.expires_at, item.started, item.state) == (
        bench.now,
        bench.in_seconds(60),
        True,
        "RUNNING",
    )


def test_claim_may_ask_for_another_term(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    bench.subject()

    assert bench.take(bench.worker(), ttl_seconds=5).item.expires_at == bench.in_seconds(5)


def test_claim_that_starts_is_told_by_one_fact(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    bench.run_it(bench.worker())

    told = bench.facts(subject)[-1]

    assert (told.type, told.state, told.data["started"]) == ("lease.claimed", "RUNNING", True)


# Policy ---------------------------------------------------------------------------------------------------------------
def test_change_of_policy_is_told_by_a_fact(bench: Bench) -> None:
    queue = bench.define_queue("q")
    bench.update_queue_policy("q", lease_ttl_seconds=5)

    facts = bench.facts(queue.uid)

    assert [f.type for f in facts] == ["queue.defined", "queue.updated"]
    assert facts[-1].data == {"set": {"lease_ttl_seconds": 5}}


def test_change_of_policy_to_what_it_is_changes_nothing(bench: Bench) -> None:
    queue = bench.define_queue("q")

    assert bench.update_queue_policy("q", enabled=True) == queue


def test_change_to_what_it_is_keeps_its_key_so_that_it_is_not_done_later(bench: Bench) -> None:
    queue = bench.define_queue("q")
    same = bench.update_queue_policy("q", enabled=True, idempotency_key="open")
    bench.update_queue_policy("q", enabled=False)

    again = bench.update_queue_policy("q", enabled=True, idempotency_key="open")

    assert (same.revision, same.policy()) == (queue.revision, queue.policy())
    assert (again.enabled, bench.queue("q").enabled) == (False, False)
    assert [f.data["set"] for f in bench.facts(queue.uid)[1:]] == [{}, {"enabled": False}]
    assert bench.error(bench.update_queue_policy, "q", lease_ttl_seconds=5, idempotency_key="open").code == (
        "idempotency_conflict"
    )
    assert bench.verify().clean


def test_running_lease_keeps_the_term_that_it_was_given(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    bench.subject()
    held = bench.run_it(bench.worker())
    bench.update_queue_policy("q", lease_ttl_seconds=5)

    assert bench.renew(held).data["expires_at"] == bench.in_seconds(60).isoformat(timespec="microseconds")


def test_queues_are_listed_by_dispatch_priority_then_key(bench: Bench) -> None:
    for key, priority in (("c", 1), ("b", 9), ("a", 1)):
        bench.define_queue(key, dispatch_priority=priority)

    assert [queue.queue_key for queue in bench.queues_all()] == ["b", "a", "c"]


def test_queue_defines_the_templates_that_it_serves(bench: Bench) -> None:
    bench.define_queue("q", subject_template_codes=("specimen/1.0",))

    assert bench.state(bench.subject(template="specimen/1.0")) == "READY"


@pytest.mark.parametrize("queue_key", ["lab/items", "lab/samples", "items/samples"])
def test_key_that_ends_as_what_is_in_a_queue_is_refused(bench: Bench, queue_key: str) -> None:

    refused = bench.error(bench.define_queue, queue_key)

    assert (refused.code, bench.queue(queue_key)) == ("invalid_request", None)
    assert "Choose another key" in refused.hint


@pytest.mark.parametrize("queue_key", ["items", "samples", "lab/items/2"])
def test_key_that_only_holds_these_words_is_taken(bench: Bench, queue_key: str) -> None:
    assert bench.define_queue(queue_key).queue_key == queue_key
