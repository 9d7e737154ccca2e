"""Expiry: how long a lease lasts, and what becomes of work whose lease has lapsed."""

from __future__ import annotations

from tenure.model.states import LeaseStatus
from tenure.testing.store_contract.bench import Bench


def test_lease_that_lapsed_before_work_began_costs_no_attempt(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60, max_attempts_default=1)
    subject = bench.subject()
    bench.take(bench.worker())
    bench.later(61)
    bench.sweep()

    env = bench.envelope(subject)
    assert (env.state, env.attempt_count, bench.visible()) == ("READY", 0, [subject])


def test_lease_that_lapsed_after_work_began_costs_an_attempt(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60, max_attempts_default=2)
    subject = bench.subject()
    bench.run_it(bench.worker())
    lapses = bench.in_seconds(60)
    bench.later(100)
    bench.sweep()

    env = bench.envelope(subject)
    assert (env.state, env.attempt_count, env.retry_at) == ("FAILED_RETRYABLE", 1, lapses)
    assert bench.visible() == [subject]


def test_last_attempt_that_lapses_makes_a_dead_letter(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60, max_attempts_default=1)
    subject = bench.subject()
    bench.run_it(bench.worker())
    bench.later(61)
    hidden = bench.visible()
    bench.sweep()

    assert (hidden, bench.state(subject), len(bench.dead_letters())) == ([], "FAILED_TERMINAL", 1)


def test_claim_does_what_the_sweeper_would_have_done(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject()
    bench.run_it(bench.worker("crashed"))
    bench.later(61)

    held = bench.take(bench.worker("next"))

    assert (held.subject, held.item.attempt_number) == (subject, 2)
    assert bench.types(subject) == ["subject.submitted", "lease.claimed", "lease.expired", "lease.claimed"]


def test_outside_work_without_a_deadline_never_lapses(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject()
    held = bench.run_it(bench.worker())
    bench.dispatch_external(held, external_ref="slurm:4711")
    bench.later(86400 * 365)

    swept = bench.sweep()
    bench.complete(held)

    assert (swept, bench.state(subject)) == ([], "COMPLETED")


def test_outside_work_past_its_deadline_waits_for_an_operator(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    held = bench.run_it(bench.worker())
    bench.dispatch_external(held, deadline=bench.in_seconds(60))
    bench.later(61)

    bench.sweep()

    assert (bench.state(subject), bench.visible(), bench.claim(bench.worker("other"), "q")) == (
        "WAITING_EXTERNAL",
        [],
        [],
    )
    bench.requeue(subject, reason="the cluster lost it")
    assert bench.visible() == [subject]


def test_work_that_goes_on_after_outside_work_lapses_like_any_other(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject()
    held = bench.run_it(bench.worker())
    began = bench.now
    bench.later(5)
    bench.dispatch_external(held)
    bench.later(3600)

    bench.start(held)

    attempt = bench.thread(subject).attempts[held.lease]
    assert (attempt.started_at, attempt.expires_at) == (began, bench.in_seconds(60))
    assert bench.state(subject) == "RUNNING"


def test_work_that_runs_outside_lasts_until_its_deadline(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject()
    held = bench.take(bench.worker())
    bench.dispatch_external(held)
    until = bench.in_seconds(86400)

    bench.start(held, deadline=until)
    bench.later(86399)

    assert bench.sweep() == []
    assert bench.thread(subject).attempts[held.lease].expires_at == until
    assert bench.verify().clean
    bench.later(1)
    assert len(bench.sweep()) == 1
    assert (bench.state(subject), bench.verify().found) == ("FAILED_RETRYABLE", {})


def test_renewed_lease_lasts_another_term(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject()
    held = bench.run_it(bench.worker())
    bench.later(50)

    bench.renew(held)

    attempt = bench.thread(subject).attempts[held.lease]
    assert (attempt.heartbeat_at, attempt.expires_at) == (bench.now, bench.in_seconds(60))


def test_renewing_never_shortens_a_lease(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=600)
    subject = bench.subject()
    held = bench.run_it(bench.worker())
    until = bench.thread(subject).attempts[held.lease].expires_at

    bench.renew(held, ttl_seconds=5)

    assert bench.thread(subject).attempts[held.lease].expires_at == until


def test_admin_may_end_a_live_lease(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    held = bench.run_it(bench.worker())

    early = bench.error(bench.expire_lease, held.lease)
    bench.expire_lease(held.lease, force=True, reason="robot unplugged")

    assert early.code == "conflict"
    attempt = bench.thread(subject).attempts[held.lease]
    assert (attempt.lease_status, attempt.release_reason) == (LeaseStatus.EXPIRED, "robot unplugged")
    assert bench.visible() == [subject]
