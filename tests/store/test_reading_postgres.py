"""What the PostgreSQL store answers to readers is what the model says of the same threads."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings

from tenure.engine.actions.submit import submit_many
from tenure.model.eligibility import serves, takes_claims
from tenure.model.errors import NotClaimable
from tenure.model.ordering import OrderKey, order_key
from tenure.model.queue import Queue
from tenure.model.requests import SubmitSubject
from tenure.model.states import ErrorClass, HoldStatus, LeaseStatus, RecordStatus, Resolution, State
from tenure.model.thread import SubjectThread
from tenure.model.visibility import eligible_since, is_visible
from tenure.store.postgres.order import after_params
from tenure.store.postgres.statements import text
from tenure.store.records import Edge, QueueCounts
from tests.store.actions import NOON, Lab
from tests.store.wandering import STEPS, Walk

_numbers = itertools.count(1)


def threads_of(lab: Lab) -> list[SubjectThread]:
    uids = lab.run(lab.store.subjects_after(lab.tenant, 0, 100_000, None))
    return [thread for thread, _ in lab.run(lab.store.evidence(uids))]


def visible(lab: Lab, queue: Queue) -> list[tuple[OrderKey, SubjectThread]]:
    found = [
        (order_key(t.envelope, eligible_since(t, lab.now)), t)
        for t in threads_of(lab)
        if t.envelope.next_queue_key == queue.queue_key and is_visible(t, queue, lab.now)
    ]
    return sorted(found, key=lambda pair: pair[0])


def counted(lab: Lab, queue: Queue, window: float) -> QueueCounts:
    threads = threads_of(lab)
    ages = [(lab.now - eligible_since(t, lab.now)).total_seconds() for _, t in visible(lab, queue)]
    attempts = [a for t in threads for a in t.attempts.values() if a.queue_key == queue.queue_key]
    since = lab.now - timedelta(seconds=window)
    records = Counter(a.record_status for a in attempts)
    recent = Counter(a.record_status for a in attempts if a.ended_at is not None and a.ended_at > since)
    succeeded = recent[RecordStatus.SUCCEEDED]
    failed = recent[RecordStatus.FAILED_RETRYABLE] + recent[RecordStatus.FAILED_TERMINAL]
    workers = [w for w in lab.run(lab.store.workers(lab.tenant)) if takes_claims(w, lab.now) and serves(w, queue)]
    refused = Counter(
        (row[0], row[1])
        for row in lab.sql(
            "select code, action from tenure.refusal where tenant = %s and queue_key = %s", lab.tenant, queue.queue_key
        )
    )
    return QueueCounts(
        queue_key=queue.queue_key,
        queue_depth=len(ages),
        oldest_job_age_seconds=max(ages, default=None),
        newest_job_age_seconds=min(ages, default=None),
        active_leases=sum(a.live and not a.expired(lab.now) for a in attempts),
        expired_leases_total=sum(a.lease_status is LeaseStatus.EXPIRED for a in attempts),
        retryable_failures_total=records[RecordStatus.FAILED_RETRYABLE],
        terminal_failures_total=records[RecordStatus.FAILED_TERMINAL],
        throughput_success_per_minute=succeeded * 60 / window,
        throughput_failure_per_minute=failed * 60 / window,
        failure_rate=failed / (succeeded + failed) if succeeded + failed else 0.0,
        dead_letter_count=sum(
            d.resolution_state is Resolution.OPEN and d.queue_key == queue.queue_key
            for t in threads
            for d in t.dead_letters.values()
        ),
        held_count=sum(
            t.envelope.state is State.HELD and t.envelope.next_queue_key == queue.queue_key for t in threads
        ),
        worker_online_count=len(workers),
        worker_heartbeat_lag_seconds=max(((lab.now - w.heartbeat_at).total_seconds() for w in workers), default=None),
        claim_conflict_total=refused["not_claimable", "claim_queue_item"],
        idempotent_replay_total=sum(n for (code, _), n in refused.items() if code == "idempotent_replay"),
    )


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_after_any_history_reading_agrees_with_the_model_and_verify_finds_nothing(
    shared_database: str, steps: list[tuple[int, int, int]]
) -> None:
    lab = Lab(shared_database, f"t{next(_numbers)}")
    try:
        walk = Walk(lab)
        for step in steps:
            walk.step(*step)
        queues = lab.run(lab.store.queues(lab.tenant))
        keys = sorted(queues)
        counts = lab.run(lab.store.counts(lab.tenant, keys, 120))
        assert counts == [counted(lab, queues[key], 120) for key in keys]
        for key in keys:
            places = visible(lab, queues[key])
            assert [
                (order_key(item.envelope, item.eligible_at), item.envelope)
                for item in lab.run(lab.store.items(lab.tenant, key, 1000))
            ] == [(place, t.envelope) for place, t in places]
            assert paged(lab, key, 2) == [t.envelope.uid for _, t in places]
            for ahead, (_, thread) in enumerate(places):
                situation = lab.run(lab.store.situation(lab.tenant, thread.envelope.uid, 3))
                assert situation is not None
                assert situation.ahead == min(ahead, 3)
        report = lab.verified(tenant=lab.tenant)
        assert report.first == {}
        assert report.subjects == len(walk.subjects)
    finally:
        lab.close()


def paged(lab: Lab, key: str, size: int) -> list[int]:
    """The uids of the whole queue, read page by page."""
    found: list[int] = []
    after = None
    while page := lab.run(lab.store.items(lab.tenant, key, size, after)):
        found += [item.envelope.uid for item in page]
        after = order_key(page[-1].envelope, page[-1].eligible_at)
    return found


def test_metrics_of_a_queue_with_one_of_everything_are_exact(lab: Lab) -> None:
    lab.define("lab", max_attempts_default=2)
    held, leased, dead, retrying, done, lapsing = (lab.submit("lab") for _ in range(6))
    lab.later(10)
    first, last = lab.submit("lab"), lab.submit("lab", ready_at=NOON + timedelta(seconds=70))
    lab.hold(held)
    lab.claim(subject=leased, queue_key="lab", ttl_seconds=600)
    dying = lab.claim(subject=dead, queue_key="lab")[0]
    lab.fail(dying, error_class=ErrorClass.PERMANENT_INPUT)
    failing = lab.claim(subject=retrying, queue_key="lab")[0]
    lab.fail(failing, retry_after_seconds=3600)
    lab.complete(lab.claim(subject=done, queue_key="lab")[0], idempotency_key="done")
    lab.claim(subject=lapsing, queue_key="lab", ttl_seconds=30)
    lab.later(90)
    with pytest.raises(NotClaimable):
        lab.claim(subject=leased, queue_key="lab")
    assert lab.run(lab.store.counts(lab.tenant, ["lab"], 600)) == [
        QueueCounts(
            queue_key="lab",
            queue_depth=3,
            oldest_job_age_seconds=90,
            newest_job_age_seconds=30,
            active_leases=1,
            expired_leases_total=0,
            retryable_failures_total=1,
            terminal_failures_total=1,
            throughput_success_per_minute=0.1,
            throughput_failure_per_minute=0.2,
            failure_rate=2 / 3,
            dead_letter_count=1,
            held_count=1,
            worker_online_count=1,
            worker_heartbeat_lag_seconds=100,
            claim_conflict_total=1,
            idempotent_replay_total=0,
        )
    ]
    assert paged(lab, "lab", 10) == [first, lapsing, last]
    lab.sweep()
    lab.later(600)
    (later,) = lab.run(lab.store.counts(lab.tenant, ["lab"], 600))
    assert (later.expired_leases_total, later.failure_rate, later.throughput_success_per_minute) == (1, 0, 0)


def test_counts_come_in_the_order_asked_for_and_only_of_active_queues(lab: Lab) -> None:
    lab.define("b")
    lab.define("gone")
    lab.retire("gone")
    counts = lab.run(lab.store.counts(lab.tenant, ["b", "nowhere", "gone", "q"], 60))
    assert [c.queue_key for c in counts] == ["b", "q"]


def test_a_worker_counts_as_coverage_only_where_it_is_online_and_may_claim(lab: Lab) -> None:
    lab.define("cold", required_worker_capabilities=("freezer",), site_scope=("north",))
    lab.define("hands", manual_only=True)
    lab.register("south", capabilities=("freezer",), site_scope=("south",))
    lab.register("right", capabilities=("freezer", "more"), site_scope=("north", "south"))
    lab.register("person", worker_type="HUMAN_SESSION")
    lab.drain(lab.register("leaving", capabilities=("freezer",), site_scope=("north",)))
    lab.register("asleep", heartbeat_ttl_seconds=5, worker_type="HUMAN_SESSION")
    lab.register("elsewhere", queues=("q", "else"), worker_type="HUMAN_SESSION")
    lab.later(5)
    counts = lab.run(lab.store.counts(lab.tenant, ["cold", "hands", "q"], 60))
    assert [c.worker_online_count for c in counts] == [1, 1, 5]


def test_a_disabled_queue_still_shows_what_is_in_it(lab: Lab) -> None:
    subject = lab.submit()
    lab.update("q", enabled=False)
    assert paged(lab, "q", 10) == [subject]


def test_what_a_queue_that_took_over_a_key_does_not_serve_is_not_visible_in_it(lab: Lab) -> None:
    lab.define("line", subject_template_codes=("content/blood/1.0", "content/tissue/1.0"))
    blood, tissue = (lab.submit("line", template=f"content/{kind}/1.0") for kind in ("blood", "tissue"))
    lab.retire("line")
    assert paged(lab, "line", 10) == []
    lab.define("line", subject_template_codes=("content/tissue/1.0",))
    assert paged(lab, "line", 10) == [tissue]
    assert lab.run(lab.store.counts(lab.tenant, ["line"], 60))[0].queue_depth == 1
    situation = lab.run(lab.store.situation(lab.tenant, blood, 10))
    assert situation is not None
    assert situation.ahead is None
    assert [item.subject for item in lab.claim(10, "line")] == [tissue]


def test_history_holds_everything_that_happened_in_order(lab: Lab) -> None:
    subject, output = lab.submit(external_ref="box-1", properties={"kind": "box"}), lab.submit()
    lab.fail(lab.claim(subject=subject)[0], error_message="jam", error_code="E1", retry_after_seconds=0)
    lab.dispatch(lab.claim(subject=subject)[0], external_ref="slurm:1")
    lab.requeue(subject, reason="lost")
    with pytest.raises(NotClaimable):
        lab.claim(subject=lab.submit(ready_at=NOON + timedelta(days=1)))
    lab.hold(subject)
    with pytest.raises(NotClaimable):
        lab.claim(subject=subject)
    lab.release_hold(subject)
    lab.complete(lab.claim(subject=subject)[0], result={"ratio": 0.5}, outputs=(output,))
    history = lab.run(lab.store.history(lab.tenant, subject))
    assert history is not None
    assert history.subject.external_ref == "box-1"
    assert [f.type for f in history.facts] == [
        "subject.submitted", "lease.claimed", "execution.failed", "lease.claimed", "execution.dispatched",
        "subject.requeued", "hold.placed", "hold.released", "lease.claimed", "execution.completed",
    ]  # fmt: skip
    assert [(a.attempt.lease_status, a.attempt.release_reason) for a in history.attempts] == [
        (LeaseStatus.RELEASED, "FAILED"), (LeaseStatus.ABANDONED, "REQUEUED"), (None, "RECONCILED"),
        (LeaseStatus.COMPLETED, None),
    ]  # fmt: skip
    assert (history.attempts[0].error_message, history.attempts[-1].result) == ("jam", {"ratio": 0.5})
    assert [h.status for h in history.thread.holds.values()] == [HoldStatus.RELEASED]
    assert {child for _, child in history.thread.outputs} == {output}
    assert [(r.refused.code, r.refused.action) for r in history.refusals] == [("not_claimable", "claim_queue_item")]


def test_what_belongs_to_another_tenant_cannot_be_seen(lab: Lab) -> None:
    subject = lab.submit(external_ref="box-1")
    lease = lab.claim()[0].lease
    other = lab.run(lab.store.tenant("other", create=True, actor="user:eve"))
    assert other is not None
    assert lab.run(lab.store.subject(other, subject)) is None
    assert lab.run(lab.store.find_subject(other, "box-1")) is None
    assert lab.run(lab.store.situation(other, subject, 10)) is None
    assert lab.run(lab.store.history(other, subject)) is None
    assert lab.run(lab.store.items(other, "q", 10)) == []
    assert lab.run(lab.store.counts(other, ["q"], 60)) == []
    assert lab.run(lab.store.leases(other, None, 10)) == []
    assert lab.run(lab.store.leases(other, LeaseStatus.ACTIVE, 10)) == []
    assert lab.run(lab.store.lineage(other, subject)) == lab.run(lab.store.lineage(other, lease)) == []
    assert lab.run(lab.store.find_subject(lab.tenant, "box-1")) == subject


def test_leases_are_listed_newest_first_by_status_queue_and_worker(lab: Lab) -> None:
    lab.define("b")
    second = lab.register("second")
    for queue in ("q", "q", "b"):
        lab.submit(queue)
    one, two = lab.claim(2)
    (three,) = lab.claim(1, "b", worker=second.uid)
    lab.complete(one)

    def listed(status: LeaseStatus | None, limit: int = 10, **where: int | str | None) -> list[int]:
        return [row.attempt.uid for row in lab.run(lab.store.leases(lab.tenant, status, limit, **where))]  # type: ignore[arg-type]

    assert listed(None) == [three.lease, two.lease, one.lease]
    assert listed(LeaseStatus.ACTIVE) == [three.lease, two.lease]
    assert listed(LeaseStatus.COMPLETED) == [one.lease]
    assert listed(LeaseStatus.ACTIVE, 1, before=three.lease) == [two.lease]
    assert listed(LeaseStatus.ACTIVE, queue_key="q") == listed(LeaseStatus.ACTIVE, worker=lab.worker.uid) == [two.lease]
    assert listed(None, queue_key="q") == listed(None, worker=lab.worker.uid) == [two.lease, one.lease]
    lab.later(86_400)
    lab.sweep()
    assert listed(LeaseStatus.EXPIRED) == [three.lease, two.lease]
    assert (
        listed(LeaseStatus.EXPIRED, 1, before=three.lease) == listed(LeaseStatus.EXPIRED, queue_key="q") == [two.lease]
    )
    assert listed(LeaseStatus.EXPIRED, worker=second.uid) == [three.lease]
    assert listed(None, 1, before=three.lease) == [two.lease]


def test_dead_letters_and_holds_are_listed_newest_first_all_or_what_waits(lab: Lab) -> None:
    one, two, three = (lab.submit(name=name) for name in ("one", "two", "three"))
    for item in lab.claim(2):
        lab.fail(item, error_class=ErrorClass.PERMANENT_STATE, error_code="E9", error_message="broken")
    lab.resolve(one)
    rows = lab.run(lab.store.dead_letters(lab.tenant, open_only=False, limit=10))
    assert [(r.letter.subject, r.name, r.error_code, r.error_message) for r in rows] == [
        (two, "two", "E9", "broken"), (one, "one", "E9", "broken"),
    ]  # fmt: skip
    assert lab.run(lab.store.dead_letters(lab.tenant, open_only=True, limit=10)) == rows[:1]
    assert lab.run(lab.store.dead_letters(lab.tenant, open_only=False, limit=10, before=rows[0].letter.uid)) == rows[1:]
    lab.hold(three, "first")
    lab.hold(three, "second")
    lab.release_hold(
        three, hold=min(h.hold.uid for h in lab.run(lab.store.holds(lab.tenant, active_only=True, limit=9)))
    )
    listed = lab.run(lab.store.holds(lab.tenant, active_only=False, limit=10))
    assert [(h.hold.reason, h.hold.status, h.name) for h in listed] == [
        ("second", HoldStatus.ACTIVE, "three"), ("first", HoldStatus.RELEASED, "three"),
    ]  # fmt: skip
    assert lab.run(lab.store.holds(lab.tenant, active_only=True, limit=10)) == listed[:1]
    assert lab.run(lab.store.holds(lab.tenant, active_only=False, limit=10, before=listed[0].hold.uid)) == listed[1:]


def test_lineage_of_every_object_is_that_of_the_view(lab: Lab) -> None:
    parent, output = lab.submit(), lab.submit()
    child = lab.submit(parents=(parent,))
    lab.complete(lab.claim(subject=parent)[0], outputs=(output,))
    lab.fail(lab.claim(subject=output)[0], error_class=ErrorClass.PERMANENT_INPUT)
    lab.fail(lab.claim(subject=child)[0], error_class=ErrorClass.BUSINESS_RULE_HOLD, error_code="smeared")
    rows = lab.sql(
        "select parent, child, relation from tenure.lineage where parent is not null and tenant = %s", lab.tenant
    )
    edges = {Edge(*row) for row in rows}
    assert {e.relation for e in edges} == {
        "execution_subject_lease", "execution_worker_lease", "execution_queue_lease", "execution_lease_record",
        "execution_subject_record", "execution_worker_record", "execution_queue_record", "execution_subject_hold",
        "execution_queue_hold", "execution_actor_hold", "execution_subject_dead_letter",
        "execution_queue_dead_letter", "execution_record_dead_letter", "execution_record_output", "parent",
    }  # fmt: skip
    for uid in {e.parent for e in edges} | {e.child for e in edges}:
        ordered = sorted(
            (e for e in edges if uid in (e.parent, e.child)), key=lambda e: (e.parent, e.child, e.relation)
        )
        assert lab.run(lab.store.lineage(lab.tenant, uid)) == ordered


def test_situation_knows_the_workers_and_what_they_hold(lab: Lab) -> None:
    lab.submit()
    waiting = lab.submit()
    idle = lab.register("idle")
    lab.claim()
    situation = lab.run(lab.store.situation(lab.tenant, waiting, 10))
    assert situation is not None
    assert [w.uid for w in situation.workers] == [idle.uid, lab.worker.uid]
    assert situation.live_leases == {lab.worker.uid: 1}
    assert (situation.queue, situation.ahead) == (lab.queue, 0)
    lab.retire("q")
    situation = lab.run(lab.store.situation(lab.tenant, waiting, 10))
    assert situation is not None
    assert (situation.queue, situation.ahead) == (None, None)


@pytest.mark.parametrize("analyzed", [False, True])
def test_a_page_of_a_deep_queue_and_a_place_in_it_read_no_more_than_they_show(lab: Lab, analyzed: bool) -> None:
    requests = [SubmitSubject(queue_key="q", priority=i % 3) for i in range(5000)]
    lab.run(submit_many(lab.caller, requests))
    if analyzed:
        lab.sql("analyze")
    item = lab.run(lab.store.items(lab.tenant, "q", 1))[0]
    after = order_key(item.envelope, item.eligible_at)

    def rows_read(name: str, params: dict[str, object]) -> int:
        cursor = lab.connection.execute("explain (analyze, format json) " + text(name), params)  # type: ignore[arg-type]
        return sum(
            node["Actual Rows"] * node["Actual Loops"] + node.get("Rows Removed by Filter", 0)
            for node in nodes(cursor.fetchall()[0][0][0]["Plan"])
            if node.get("Relation Name") in ("execution", "attempt", "subject")
        )

    base = {"tenant": lab.tenant, "queue_key": "q"}
    assert rows_read("items", base | {"limit": 10} | after_params(after)) <= 50
    assert rows_read("ahead", base | {"limit": 10, "uid": item.envelope.uid}) <= 50


def nodes(plan: dict[str, object]) -> Iterator[dict[str, object]]:
    yield plan
    for inner in plan.get("Plans", []):  # type: ignore[attr-defined]
        yield from nodes(inner)
