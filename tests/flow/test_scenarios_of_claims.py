"""Scenarios of S3 about claims, leases, retries and what is rebuilt, on the work of runs, by the names of design 02."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tenure.flow.engine import asking, reading
from tenure.flow.engine.results import RunResult
from tenure.flow.model.errors import BoundaryConflict
from tenure.flow.model.fold import fold as fold_run
from tenure.model.errors import TenureError
from tenure.model.thread import fold
from tenure.model.worker import Worker
from tenure.sdk.operations import Lease
from tests.flow.lab import FlowLab, postgres_lab, step, task
from tests.flow.model.scene import fact
from tests.flow.test_recovery import damage, nobody_following

FAILS = {"error_class": "TRANSIENT_SYSTEM", "error_code": "E1", "error_message": "no"}


@pytest.fixture
def pg(migrated_database: str) -> Iterator[FlowLab]:
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        yield postgres_lab(connection)


@pytest.fixture
def run(lab: FlowLab) -> RunResult:
    """A run of one step, whose work waits."""
    lab.define(task("one"), output="$.outputs.one?")
    return lab.start()


@pytest.fixture
def other(lab: FlowLab) -> Worker:
    return lab.bench.worker("other")


def lapsed(lab: FlowLab) -> Lease:
    """The work in the hands of a worker whose lease ran out."""
    (lease,) = lab.take()
    lab.bench.later(lease.item.ttl_seconds + 1)
    return lease


def refusals(lab: FlowLab, lease: Lease) -> dict[str, str]:
    """What the kernel says to each report of a holder."""
    reports = {
        "beat": lambda: lab.bench.renew(lease), "complete": lambda: lab.bench.complete(lease, result="late"),
        "fail": lambda: lab.bench.fail(lease, **FAILS),
    }  # fmt: skip
    return {name: lab.bench.error(report).code for name, report in reports.items()}


# Facts and their threads ----------------------------------------------------------------------------------------------
def test_thread_classification(lab: FlowLab, run: RunResult) -> None:
    lease = lab.work("x")
    assert {type_.partition(".")[0] for type_ in lab.types(run)} == {"run"}
    told = [each.type for each in lab.bench.history(lease.subject).facts]
    assert [type_.partition(".")[0] for type_ in told] == ["subject", "lease", "execution"]


def test_missing_required_field() -> None:
    state = fold_run([fact(1, "run.started", {"workflow": "w"})], fact(1, "run.started", {}).thread)
    (anomaly,) = state.anomalies
    assert (anomaly.reason.startswith("malformed"), state.started) == (True, False)


def test_duplicate_and_conflicting_intent() -> None:
    started = {"workflow": "w", "version": 1, "fingerprint": "ab" * 32, "input_hash": "ab" * 32}
    plan = {"runnables": [{"step": "a", "kind": "task"}]}
    told = [
        fact(1, "run.started", started),
        fact(2, "run.runnables_planned", plan),
        fact(3, "run.runnables_planned", plan),
    ]
    assert fold_run(told, told[0].thread).anomaly_count == 0
    other = {"runnables": [{"step": "a", "kind": "task", "hash": "cd" * 32}]}
    told.append(fact(4, "run.runnables_planned", other))
    state = fold_run(told, told[0].thread)
    assert [a.reason for a in state.anomalies] == ["conflicting_plan"]


def test_apply_before_completion() -> None:
    started = {"workflow": "w", "version": 1, "fingerprint": "ab" * 32, "input_hash": "ab" * 32}
    told = [
        fact(1, "run.started", started),
        fact(2, "run.runnable_applied", {"step": "a", "outcome": "ok", "ref": "record:1"}),
    ]
    state = fold_run(told, told[0].thread)
    assert [a.reason for a in state.anomalies] == ["apply_before_plan"]
    assert state.step("a").phase == "idle"


# Claims and leases ----------------------------------------------------------------------------------------------------
def test_live_lease_hides(lab: FlowLab, run: RunResult, other: Worker) -> None:
    lab.take()
    assert lab.bench.claim(other, "q", start=True) == []
    assert lab.waiting() == []


def test_expired_redelivers(lab: FlowLab, run: RunResult, other: Worker) -> None:
    lease = lapsed(lab)
    (again,) = lab.bench.claim(other, "q", start=True)
    assert (again.subject, again.item.attempt_number) == (lease.subject, 2)
    lab.bench.complete(again, result="second")
    assert lab.ended(run) == ("COMPLETED", None, "second")


def test_claim_before_visible(lab: FlowLab, run: RunResult) -> None:
    (lease,) = lab.take()
    lab.bench.defer(lease, until=lab.bench.in_seconds(600))
    assert lab.take() == []
    refused = lab.bench.error(lab.bench.claim, lab.worker, "q", subject=lease.subject)
    assert [r["code"] for r in refused.evidence["reasons"]] == ["not_yet_due"]
    lab.bench.later(600)
    assert len(lab.take()) == 1


def test_takeover_only_after_expiry(lab: FlowLab, run: RunResult, other: Worker) -> None:
    (lease,) = lab.take()
    lab.bench.later(lease.item.ttl_seconds - 1)
    refused = lab.bench.error(lab.bench.claim, other, "q", subject=lease.subject, start=True)
    assert [r["code"] for r in refused.evidence["reasons"] if r["code"] == "active_lease"]
    lab.bench.later(2)
    (taken,) = lab.bench.claim(other, "q", subject=lease.subject, start=True)
    assert taken.item.worker == other.uid


def test_heartbeat_only_by_the_current_claim(lab: FlowLab, run: RunResult, other: Worker) -> None:
    old = lapsed(lab)
    (new,) = lab.bench.claim(other, "q", start=True)
    assert lab.bench.error(lab.bench.renew, old).code in ("stale_lease", "lease_expired")
    lab.bench.later(new.item.ttl_seconds - 1)
    lab.bench.renew(new)
    lab.bench.later(new.item.ttl_seconds - 1)
    lab.bench.complete(new, result="held on")
    assert lab.ended(run)[2] == "held on"


def test_expired_owner_cannot_beat_complete_or_fail(lab: FlowLab, run: RunResult) -> None:
    lease = lapsed(lab)
    before = lab.types(run)
    assert set(refusals(lab, lease).values()) <= {"lease_expired", "stale_lease"}
    assert lab.types(run) == before


def test_stale_failure_makes_no_retry(lab: FlowLab, run: RunResult, other: Worker) -> None:
    old = lapsed(lab)
    (new,) = lab.bench.claim(other, "q", start=True)
    before = lab.bench.envelope(old.subject)
    assert lab.bench.error(lab.bench.fail, old, **FAILS).code in ("lease_expired", "stale_lease")
    after = lab.bench.envelope(old.subject)
    assert (after.attempt_count, after.retry_at, after.state) == (before.attempt_count, before.retry_at, "RUNNING")
    lab.bench.complete(new, result=1)
    assert lab.status(run) == "COMPLETED"


def test_conflicting_completion(lab: FlowLab, run: RunResult) -> None:
    (lease,) = lab.take()
    lab.bench.complete(lease, result="first")
    assert isinstance(lab.bench.error(lab.bench.complete, lease, result="second"), TenureError)
    assert lab.ended(run) == ("COMPLETED", None, "first")
    assert lab.types(run).count("run.runnable_applied") == 1


def test_stale_token_hash(lab: FlowLab, run: RunResult) -> None:
    (lease,) = lab.take()
    stranger = Lease(lease.item, type(lease.token)())
    assert set(refusals(lab, stranger).values()) == {"forbidden"}
    assert lab.types(run) == ["run.started", "run.runnables_planned"]


def test_claim_cannot_reopen_completed(lab: FlowLab, run: RunResult, other: Worker) -> None:
    lease = lab.work("done")
    assert lab.bench.claim(other, "q", start=True) == []
    refused = lab.bench.error(lab.bench.claim, other, "q", subject=lease.subject)
    assert "terminal_state" in [r["code"] for r in refused.evidence["reasons"]]
    assert lab.bench.envelope(lease.subject).state == "COMPLETED"


def test_two_claimers_one_wins(pg: FlowLab) -> None:
    pg.define(task("one"))
    pg.start()
    workers = [pg.bench.worker(f"w{n}") for n in range(6)]
    start, won = threading.Barrier(len(workers)), []

    def claim(worker: Worker) -> None:
        with pg.bench.beside() as bench:
            start.wait(30)
            won.extend(bench.claim(worker, "q", start=True))

    threads = [threading.Thread(target=claim, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(won) == 1


# Rebuilding -----------------------------------------------------------------------------------------------------------
def test_retry_survives_rebuild(lab: FlowLab, run: RunResult) -> None:
    (lease,) = lab.take()
    lab.bench.fail(lease, **FAILS, retry_after_seconds=300)
    history = lab.bench.history(lease.subject)
    rebuilt = fold(history.facts, history.subject.template)
    assert rebuilt is not None
    assert rebuilt.envelope.retry_at == lab.bench.envelope(lease.subject).retry_at == lab.bench.in_seconds(300)
    assert lab.take() == []
    lab.bench.later(300)
    lab.work("again")
    assert lab.status(run) == "COMPLETED"


def test_run_terminal_after_rebuild(lab: FlowLab, run: RunResult) -> None:
    lab.work("done")
    rebuilt = fold_run(lab.bench.run(lab.storage.journal.load(run.run)), run.run)
    assert (str(rebuilt.status), rebuilt.end) == (lab.status(run), lab.state(run).end)


def test_lost_notification(lab: FlowLab) -> None:
    """Nobody was told of the step that follows: whoever looks finds it, and it is the same one."""
    lab.define(task("one", on_ok="two"), task("two"))
    run = lab.start()
    lab.work()  # a bench gives no hints and hears none
    assert lab.waiting() == ["two"]
    lab.work()
    assert lab.status(run) == "COMPLETED"


def test_recover_twice(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two"))
    run = lab.start()
    with nobody_following(lab):
        lab.work("x")
    assert lab.recover().repaired == [run.run]
    facts = lab.types(run)
    assert lab.recover().repaired == []
    assert lab.types(run) == facts
    assert lab.waiting() == ["two"]


def test_corrupt_related_run(lab: FlowLab) -> None:
    lab.define(task("bake"), name="cake")
    lab.define(step("sub", "child", workflow="cake"), task("beside"))
    run = lab.start()
    (child,) = lab.bench.run(lab.storage.children(lab.bench.tenant, [run.run]))
    damage(lab, child.uid)
    snapshot = lab.run(reading.inspect, run.run)
    assert [row.uid for row in snapshot.children] == [child.uid]
    assert "child_under_way" in [r.code for r in lab.run(reading.explain, run.run)]
    assert lab.bench.error(lab.run, reading.inspect, child.uid).code == "journal_corrupt"
    lab.drain({"beside": "done"}, most=2)
    assert lab.state(run).step("beside").phase == "ok"


# Boundaries and waits -------------------------------------------------------------------------------------------------
def test_stale_resolution(lab: FlowLab) -> None:
    lab.define(step("first", "approval", on_ok="second"), step("second", "approval"))
    run = lab.start()
    lab.approve(run, step="first")
    with pytest.raises(BoundaryConflict):
        lab.reject(run, step="first", iteration=1)
    assert (lab.state(run).manual.step, lab.state(run).resolved.decision) == ("second", "approved")


def test_dependency_wait(lab: FlowLab) -> None:
    lab.define(task("a"), task("b"), task("join", after=["a", "b"]))
    run = lab.start()
    reason = next(r for r in lab.run(reading.explain, run.run) if r.code == "dependency_wait")
    assert (reason.evidence["step"], reason.evidence["waits_for"]) == ("join", ["a", "b"])
    lab.work()
    reason = next(r for r in lab.run(reading.explain, run.run) if r.code == "dependency_wait")
    assert len(reason.evidence["waits_for"]) == 1
    lab.work()
    assert lab.waiting() == ["join"]


def test_cancel_between_claim_and_step(lab: FlowLab, run: RunResult) -> None:
    (lease,) = lab.bench.claim(lab.worker, "q")
    lab.cancel(run, reason="withdrawn")
    assert isinstance(lab.bench.error(lab.bench.start, lease), TenureError)
    assert lab.status(run) == "CANCELED"
    assert lab.bench.envelope(lease.subject).state == "CANCELED"


def test_signal_to_a_run_of_another_tenant_is_as_unknown_as_none(lab: FlowLab, run: RunResult) -> None:
    stranger = lab.bench.other_tenant("elsewhere")
    stranger.caller = stranger.caller.__class__(
        stranger.store, stranger.caller.tenant, "user:eve", followers=lab.bench.caller.followers
    )
    refused: Any = stranger.error(stranger.perform, asking.signal, run.run, "paid")
    assert refused.code == "run_unknown"
