"""S1 section 11.7 through HTTP: the metrics are correct, and the subject inspector explains every exclusion."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tenure.testing.clock import MovableClock
from tests.api.conftest import Site


def later(site: Site, seconds: float) -> None:
    site.server.settings.clock.advance(seconds=seconds)  # type: ignore[union-attr, call-arg]


def run_it(site: Site, worker_key: str = "w", **claim: object) -> dict[str, str]:
    """Claim what is named or first, and begin."""
    worker = site.worker.register(worker_key)
    [lease] = site.worker.claim(worker, start=True, **claim)
    return lease


def metrics(site: Site, queue_key: str = "q") -> dict[str, float]:
    """What /metrics says of one queue."""
    text = site.as_("observer").request("GET", "//metrics").text
    return {
        sample.name: sample.value for family in text_string_to_metric_families(text) for sample in family.samples
        if sample.labels == {"tenant": site.tenant, "queue_key": queue_key}
    }  # fmt: skip


def test_queue_metrics_correctness(site: Site, clock: MovableClock) -> None:
    site.trusted.define_queue(
        "m", max_attempts_default=2, retry_policy={"mode": "CONSTANT", "initial_delay_seconds": 600}
    )
    api, worker = site.admin, site.worker
    api.submit("m", name="completed", priority=9)
    worker.act("complete", **worker.holder(run_it(site, queue_key="m")))
    api.submit("m", name="dead", priority=9)
    worker.act("fail", **worker.holder(run_it(site, queue_key="m")), retryable=False)
    api.submit("m", name="retried", priority=9)
    worker.act("fail", **worker.holder(run_it(site, queue_key="m")), retryable=True)
    leased = api.submit("m", name="leased", priority=9)
    run_it(site, queue_key="m")
    assert worker.refused("claim", worker_euid=worker.register("other")["euid"], queue_key="m", subject_euid=leased)
    api.act("hold", subject_euid=api.submit("m", name="held"), reason="broken seal")
    api.submit("m", name="oldest")
    later(site, 30)
    api.submit("m", name="newest")
    api.submit("m", name="in an hour", ready_at=(clock() + timedelta(hours=1)).isoformat())
    later(site, 10)

    assert metrics(site, "m") == {
        "queue_depth": 2, "oldest_job_age_seconds": 40, "newest_job_age_seconds": 10, "active_leases": 1,
        "expired_leases_total": 0, "retryable_failures_total": 1, "terminal_failures_total": 1,
        "throughput_success_per_minute": 0.2, "throughput_failure_per_minute": 0.4, "failure_rate": pytest.approx(2 / 3),
        "dead_letter_count": 1, "held_count": 1, "worker_online_count": 2, "worker_heartbeat_lag_seconds": 40,
        "claim_conflict_total": 1, "idempotent_replay_total": 0,
    }  # fmt: skip
    by_route = api.get("/queues/m", window_seconds=60)["metrics"]
    assert (by_route["throughput_success_per_minute"], by_route["throughput_failure_per_minute"]) == (1, 2)


def test_metrics_count_replays_and_expired_leases(site: Site) -> None:
    site.trusted.define_queue("m", lease_ttl_seconds=60)
    site.admin.submit("m")
    site.admin.submit("m")
    holder = site.worker.holder(run_it(site, queue_key="m"))
    site.worker.act("complete", **holder)
    site.worker.act("complete", **holder)
    lapsed = run_it(site, "other", queue_key="m")
    later(site, 61)
    site.admin.act("expire-lease", lease_euid=lapsed["lease"])

    told = metrics(site, "m")

    assert (told["idempotent_replay_total"], told["expired_leases_total"]) == (1, 1)


def held(site: Site) -> str:
    subject = site.admin.submit()
    site.admin.act("hold", subject_euid=subject, reason="broken seal")
    return subject


def leased(site: Site) -> str:
    subject = site.admin.submit()
    site.worker.claim(site.worker.register(), subject_euid=subject)
    return subject


def waiting_for_its_retry(site: Site) -> str:
    subject = site.admin.submit()
    site.worker.act("fail", **site.worker.holder(run_it(site, subject_euid=subject)), retryable=True)
    return subject


def without_a_queue(site: Site) -> str:
    return site.admin.submit(None)


def running(site: Site) -> str:
    subject = site.admin.submit()
    run_it(site, subject_euid=subject)
    return subject


def before_a_disabled_queue(site: Site) -> str:
    subject = site.admin.submit()
    site.admin.act("update-queue-policy", queue_key="q", changes={"enabled": False, "disabled_reason": "cleaning"})
    return subject


def beyond_everyones_skill(site: Site) -> str:
    site.worker.register("unskilled")
    site.admin.act("update-queue-policy", queue_key="q", changes={"required_worker_capabilities": ["wetlab"]})
    return site.admin.submit()


def terminal(site: Site) -> str:
    subject = site.admin.submit()
    site.admin.act("cancel", subject_euid=subject)
    return subject


def not_yet_due(site: Site) -> str:
    return site.admin.submit(ready_at="2100-01-01T00:00:00Z")


def outside_the_scope(site: Site) -> str:
    site.admin.act("update-queue-policy", queue_key="q", changes={"site_scope": ["north"]})
    return site.admin.submit(site="south")


def before_a_retired_queue(site: Site) -> str:
    subject = site.admin.submit()
    site.admin.act("retire-queue", queue_key="q", reason="replaced")
    return subject


@pytest.mark.parametrize(
    "arrange, code, evidence",
    [
        (held, "hold_active", {"hold", "placed_by", "placed_at"}),
        (leased, "active_lease", {"leases"}),
        (waiting_for_its_retry, "retry_window", {"retry_at", "attempt_count"}),
        (without_a_queue, "next_queue_missing", set()),
        (running, "state_not_eligible", {"state"}),
        (before_a_disabled_queue, "queue_disabled", {"queue_key"}),
        (beyond_everyones_skill, "capability_mismatch", {"missing", "required"}),
        (terminal, "terminal_state", {"state"}),
        (not_yet_due, "not_yet_due", {"ready_at"}),
        (outside_the_scope, "scope_mismatch", {"site", "allowed"}),
        (before_a_retired_queue, "queue_unknown", {"queue_key"}),
    ],
)
def test_why_not_visible_diagnostics(site: Site, arrange: Callable[[Site], str], code: str, evidence: set[str]) -> None:
    subject = arrange(site)

    shown = site.as_("observer").get(f"/subjects/{subject}")

    reason = next((r for r in shown["reasons"] if r["code"] == code), None)
    assert reason is not None, [r["code"] for r in shown["reasons"]]
    assert reason["blocking"] is True
    assert reason["remedy"].endswith(".")
    assert evidence <= reason["evidence"].keys()
    assert shown["visible"] is False


def test_why_tells_the_place_in_the_queue_and_who_could_take_it(site: Site) -> None:
    site.worker.register("w1")
    site.admin.submit(priority=5)
    subject = site.admin.submit()

    shown = site.admin.get(f"/subjects/{subject}")

    reasons = {r["code"]: r for r in shown["reasons"]}
    assert shown["visible"] is True
    assert reasons["in_queue"]["evidence"]["ahead"] == 1
    assert [w["worker_key"] for w in reasons["claimable_by"]["evidence"]["workers"]] == ["w1"]
