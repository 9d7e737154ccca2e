"""S1 section 11.7: observability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tenure.model.visibility import obstacles
from tests.store.harness import Bench


def test_queue_metrics_correctness(bench: Bench) -> None:
    bench.define_queue("q", max_attempts_default=2, retry_policy={"mode": "CONSTANT", "initial_delay_seconds": 600})
    worker = bench.worker()
    bench.subject(name="completed", priority=9)
    bench.complete(bench.run_it(worker))
    bench.subject(name="dead", priority=9)
    bench.fail(bench.run_it(worker), retryable=False)
    bench.subject(name="retried", priority=9)
    bench.fail(bench.run_it(worker), retryable=True)
    bench.subject(name="leased", priority=9)
    bench.take(worker)
    held = bench.subject(name="held")
    bench.hold(held, reason="broken seal")
    bench.subject(name="oldest")
    bench.later(30)
    bench.subject(name="newest")
    bench.subject(name="in an hour", ready_at=bench.in_seconds(3600))
    bench.later(10)

    counts = bench.counts(window_seconds=60)

    assert (counts.queue_depth, counts.held_count, counts.active_leases, counts.dead_letter_count) == (2, 1, 1, 1)
    assert (counts.oldest_job_age_seconds, counts.newest_job_age_seconds) == (40, 10)
    assert (counts.retryable_failures_total, counts.terminal_failures_total) == (1, 1)
    assert (counts.throughput_success_per_minute, counts.throughput_failure_per_minute) == (1, 2)
    assert counts.failure_rate == pytest.approx(2 / 3)
    assert (counts.worker_online_count, counts.worker_heartbeat_lag_seconds) == (1, 40)


def test_metrics_count_lapsed_leases_once_they_are_swept(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    bench.subject()
    bench.take(bench.worker())
    bench.later(61)
    lapsed = bench.counts()

    bench.sweep()

    assert (lapsed.active_leases, lapsed.expired_leases_total, lapsed.queue_depth) == (0, 0, 1)
    assert bench.counts().expired_leases_total == 1


def test_metrics_count_claim_conflicts_and_replays(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    held = bench.run_it(bench.worker("one"), subject=subject)
    bench.error(bench.claim, bench.worker("two"), "q", subject=subject)
    bench.complete(held)

    bench.complete(held)

    assert (bench.counts().claim_conflict_total, bench.counts().idempotent_replay_total) == (1, 1)


def held(bench: Bench) -> int:
    subject = bench.subject()
    bench.hold(subject, reason="broken seal")
    return subject


def leased(bench: Bench) -> int:
    return bench.take(bench.worker(), subject=bench.subject()).subject


def waiting_for_its_retry(bench: Bench) -> int:
    lease = bench.run_it(bench.worker(), subject=bench.subject())
    bench.fail(lease, retryable=True)
    return lease.subject


def without_a_queue(bench: Bench) -> int:
    return bench.subject(None)


def pending(bench: Bench) -> int:
    return bench.subject(ready=False)


def before_a_disabled_queue(bench: Bench) -> int:
    subject = bench.subject()
    bench.update_queue_policy("q", enabled=False, disabled_reason="cleaning")
    return subject


def beyond_everyones_skill(bench: Bench) -> int:
    bench.worker("unskilled")
    bench.update_queue_policy("q", required_worker_capabilities=["wetlab.extraction"])
    return bench.subject()


def terminal(bench: Bench) -> int:
    subject = bench.subject()
    bench.cancel(subject)
    return subject


def before_a_retired_queue(bench: Bench) -> int:
    subject = bench.subject()
    bench.retire_queue("q", reason="replaced")
    return subject


def before_a_queue_for_other_templates(bench: Bench) -> int:
    subject = bench.subject()
    bench.retire_queue("q", reason="replaced")
    bench.define_queue("q", subject_template_codes=("content/material/specimen/1.0",))
    return subject


def not_yet_due(bench: Bench) -> int:
    return bench.subject(ready_at=bench.in_seconds(60))


def outside_the_scope(bench: Bench) -> int:
    bench.update_queue_policy("q", site_scope=["north"])
    return bench.subject(site="south")


def running(bench: Bench) -> int:
    return bench.run_it(bench.worker(), subject=bench.subject()).subject


def with_all_slots_done(bench: Bench) -> int:
    subject = bench.subject(slots=2)
    bench.complete(bench.run_it(bench.worker("a"), subject=subject))
    bench.run_it(bench.worker("b"), subject=subject)
    return subject


def behind_a_busy_worker(bench: Bench) -> int:
    worker = bench.worker("small", max_concurrent_leases=1)
    bench.take(worker, subject=bench.subject())
    return bench.subject()


def before_nobody(bench: Bench) -> int:
    return bench.subject()


def left_by_a_lapsed_worker(bench: Bench) -> int:
    subject = leased(bench)
    bench.later(901)
    return subject


def before_a_worker_of_other_queues(bench: Bench) -> int:
    bench.worker("elsewhere", queues=("other",))
    return bench.subject()


def exhausted_by_a_lapsed_worker(bench: Bench) -> int:
    subject = bench.run_it(bench.worker(), subject=bench.subject(max_attempts=1)).subject
    bench.later(901)
    return subject


@pytest.mark.parametrize(
    "arrange, code, evidence",
    [
        (held, "hold_active", {"hold", "placed_by", "placed_at"}),
        (leased, "active_lease", {"leases"}),
        (waiting_for_its_retry, "retry_window", {"retry_at", "attempt_count"}),
        (without_a_queue, "next_queue_missing", set()),
        (pending, "state_not_eligible", {"state", "eligible_states"}),
        (running, "state_not_eligible", {"state"}),
        (before_a_disabled_queue, "queue_disabled", {"queue_key"}),
        (beyond_everyones_skill, "capability_mismatch", {"missing", "required"}),
        (terminal, "terminal_state", {"state"}),
        (before_a_retired_queue, "queue_unknown", {"queue_key"}),
        (before_a_queue_for_other_templates, "template_not_served", {"template", "served"}),
        (not_yet_due, "not_yet_due", {"ready_at"}),
        (outside_the_scope, "scope_mismatch", {"site", "allowed"}),
        (with_all_slots_done, "active_lease", {"leases"}),
        (behind_a_busy_worker, "workers_at_limit", {"workers"}),
        (before_nobody, "no_worker_online", {"registered"}),
        (before_a_worker_of_other_queues, "no_worker_online", {"registered", "elsewhere"}),
        (exhausted_by_a_lapsed_worker, "attempts_exhausted", {"attempt_count"}),
    ],
)
def test_why_not_visible_diagnostics(
    bench: Bench, arrange: Callable[[Bench], int], code: str, evidence: set[str]
) -> None:
    bench.define_queue("q")

    reasons = bench.why(arrange(bench))

    reason = next((r for r in reasons if r.code == code), None)
    assert reason is not None, [r.code for r in reasons]
    assert reason.blocking
    assert reason.message.endswith(".") or ": " in reason.message
    assert reason.remedy.endswith(".")
    assert evidence <= reason.evidence.keys()


def test_why_tells_that_cancellation_was_requested(bench: Bench) -> None:
    bench.define_queue("q")
    thread = bench.thread(bench.subject())
    requested = replace(thread, envelope=replace(thread.envelope, cancel_requested=True))

    assert [r.code for r in obstacles(requested, bench.queue("q"), bench.now)] == ["cancel_requested"]


def test_why_tells_that_a_lapsed_lease_can_be_taken_over(bench: Bench) -> None:
    bench.define_queue("q")

    reasons = {r.code: r for r in bench.why(left_by_a_lapsed_worker(bench))}

    assert not reasons["lease_expired"].blocking
    assert {"in_queue", "claimable_by"} <= reasons.keys()


def test_why_tells_the_place_in_the_queue_and_who_could_take_it(bench: Bench) -> None:
    bench.define_queue("q")
    worker = bench.worker()
    bench.subject(priority=5)

    reasons = {r.code: r for r in bench.why(bench.subject())}

    assert reasons["in_queue"].evidence["ahead"] == 1
    assert [w["worker_key"] for w in reasons["claimable_by"].evidence["workers"]] == [worker.worker_key]


def test_why_tells_every_reason_at_once(bench: Bench) -> None:
    bench.define_queue("q")
    bench.update_queue_policy("q", site_scope=["north"], enabled=False)
    subject = bench.subject(site="south", ready_at=bench.in_seconds(60))

    assert bench.codes(subject) == ["not_yet_due", "queue_disabled", "scope_mismatch"]


def test_a_worker_is_online_for_the_queues_that_it_names_and_may_claim_wherever_it_has_the_rights(bench: Bench) -> None:
    for key in ("q", "other"):
        bench.define_queue(key)
    worker = bench.worker("elsewhere", queues=("other",))
    bench.subject()
    assert [(bench.counts(key).worker_online_count, worker.queues) for key in ("q", "other")] == [
        (0, ("other",)), (1, ("other",)),
    ]  # fmt: skip
    assert bench.counts().worker_heartbeat_lag_seconds is None

    bench.take(worker)

    assert bench.counts().active_leases == 1
    bench.worker("elsewhere")  # registered again, it names none
    assert bench.counts().worker_online_count == 1
