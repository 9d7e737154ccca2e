"""Manual boundaries, signals, pausing and canceling: what people and the outside do to a run."""

from __future__ import annotations

import pytest

from tenure.flow.engine import reading
from tenure.flow.model.errors import BoundaryConflict, InvalidDefinition, NotPaused, RunEnded
from tenure.model.errors import Forbidden, IdempotencyConflict
from tenure.sdk import operations as ops
from tests.flow.lab import FlowLab, step, task


def approval(lab: FlowLab, **fields: object) -> None:
    lab.define(
        task("draw", on_ok="release"), step("release", "approval", on_ok="ship", on_error="scrap", **fields), task("ship"),
        task("scrap"), output={"ok": "$.outputs.release.decision?"},
    )  # fmt: skip


def test_an_approval_keeps_who_decided_what_when_and_why(lab: FlowLab) -> None:
    approval(lab)
    run = lab.start()
    lab.work()
    assert lab.status(run) == "PAUSED"
    assert lab.row(run).boundary["step"] == "release"
    lab.approve(run, comment="looks right")
    assert (lab.status(run), lab.waiting()) == ("RUNNING", ["ship"])
    resolved = lab.state(run).resolved
    assert (resolved.decision, resolved.actor, resolved.comment) == ("approved", "user:ada", "looks right")
    assert resolved.at == lab.bench.now
    lab.work()
    assert lab.ended(run) == ("COMPLETED", None, {"ok": "approved"})


def test_runs_that_wait_for_a_person_are_listed(lab: FlowLab) -> None:
    approval(lab)
    waiting, working, paused = (lab.start() for _ in range(3))
    lab.work()
    lab.pause(paused)
    assert [row.uid for row in lab.list(status="PAUSED")] == [paused.run, waiting.run]
    assert [row.uid for row in lab.list(waiting=True)] == [waiting.run]
    lab.approve(waiting)
    assert lab.list(waiting=True) == []
    assert lab.status(working) == "RUNNING"


def test_a_rejection_takes_the_route_for_errors(lab: FlowLab) -> None:
    approval(lab)
    run = lab.start()
    lab.work()
    lab.reject(run, comment="smudged")
    assert lab.waiting() == ["scrap"]


def test_a_rejection_without_a_route_fails_the_run(lab: FlowLab) -> None:
    lab.define(step("release", "approval"))
    run = lab.start()
    lab.reject(run, comment="no")
    assert lab.ended(run)[:2] == ("FAILED", "rejected")


def test_approving_twice_with_the_same_key_is_one_approval(lab: FlowLab) -> None:
    approval(lab)
    run = lab.start()
    lab.work()
    first = lab.approve(run, idempotency_key="k")
    again = lab.approve(run, idempotency_key="k")
    assert (first.replayed, again.replayed, again.seq) == (False, True, first.seq)
    assert lab.waiting() == ["ship"]


def test_only_the_approvers_that_a_step_names_may_decide(lab: FlowLab) -> None:
    lab.define(step("release", "approval", approvers=["user:ada", "service:gate"]))
    run = lab.start()
    for decide in (lab.approve, lab.reject):
        with lab.acting_as("user:bob"), pytest.raises(Forbidden) as refused:
            decide(run)
        assert refused.value.message == (
            "Only user:ada or service:gate may decide at 'release', and user:bob is not among them."
        )
        assert refused.value.evidence["approvers"] == ["user:ada", "service:gate"]
    with lab.acting_as("user:eve", "admin"), pytest.raises(Forbidden):
        lab.approve(run)
    assert lab.status(run) == "PAUSED"
    lab.approve(run)
    assert lab.state(run).resolved.actor == "user:ada"


def test_a_role_that_a_step_names_may_decide_whoever_holds_it(lab: FlowLab) -> None:
    lab.define(step("release", "approval", approvers=["worker_human", "user:zoe"]))
    lab.run(ops.create_principal, "user:hanna", roles=["worker_human"])
    lab.run(ops.create_principal, "user:obi", roles=["operator"])
    first, second = lab.start(), lab.start()
    for actor, roles in (("user:obi", ()), ("user:obi", ("operator",)), ("user:nobody", ())):
        with lab.acting_as(actor, *roles), pytest.raises(Forbidden, match="user:zoe or whoever is worker_human"):
            lab.approve(first)
    with lab.acting_as("user:hanna"):
        lab.approve(first)  # a trusted process has the roles of the principal in whose name it acts
    with lab.acting_as("user:someone", "worker_human"):
        lab.reject(second)
    assert (lab.status(first), lab.status(second)) == ("COMPLETED", "FAILED")


def test_a_disabled_principal_has_no_role_to_decide_by(lab: FlowLab) -> None:
    lab.define(step("release", "approval", approvers=["operator"]))
    lab.run(ops.create_principal, "user:obi", roles=["operator"])
    lab.run(ops.disable_principal, "user:obi")
    run = lab.start()
    with lab.acting_as("user:obi"), pytest.raises(Forbidden):
        lab.approve(run)


def test_where_a_step_names_nobody_an_operator_decides(lab: FlowLab) -> None:
    lab.define(step("release", "approval"))
    run = lab.start()
    with lab.acting_as("user:hanna", "worker_human"), pytest.raises(Forbidden, match="permission to operate"):
        lab.approve(run)
    with lab.acting_as("user:obi", "operator"):
        lab.approve(run)
    assert lab.status(run) == "COMPLETED"


def test_explain_names_who_may_decide(lab: FlowLab) -> None:
    lab.define(step("release", "approval", approvers=["user:ada", "operator"]))
    (reason,) = lab.run(reading.explain, lab.start().run)
    assert reason.remedy == "Approve or reject it, which is for user:ada or whoever is operator."
    assert reason.evidence["approvers"] == ["user:ada", "operator"]


def test_approvers_that_are_nobody_are_a_problem_of_the_definition(lab: FlowLab) -> None:
    with pytest.raises(InvalidDefinition) as refused:
        lab.define(step("release", "approval", approvers=["ada"]))
    (problem,) = refused.value.evidence["problems"]
    assert (problem["code"], problem["step"], problem["place"]) == ("bad_value", "release", "approvers[0]")


def test_a_second_approval_with_another_key_is_a_conflict(lab: FlowLab) -> None:
    approval(lab)
    run = lab.start()
    lab.work()
    lab.approve(run, idempotency_key="k")
    with pytest.raises(BoundaryConflict):
        lab.approve(run, idempotency_key="other")
    with pytest.raises(IdempotencyConflict):
        lab.reject(run, idempotency_key="k")


def test_approving_a_run_that_has_ended_is_refused(lab: FlowLab) -> None:
    lab.define(step("release", "approval"))
    run = lab.start()
    lab.approve(run)
    with pytest.raises(RunEnded):
        lab.approve(run)


def test_a_pause_step_waits_for_a_resume(lab: FlowLab) -> None:
    lab.define(step("look", "pause", on_ok="go"), task("go"))
    run = lab.start()
    assert (lab.status(run), lab.waiting()) == ("PAUSED", [])
    with pytest.raises(BoundaryConflict):
        lab.approve(run)
    lab.resume(run, reason="seen")
    assert (lab.status(run), lab.waiting()) == ("RUNNING", ["go"])


def test_a_boundary_expires_at_its_deadline(lab: FlowLab) -> None:
    approval(lab, deadline="1h")
    run = lab.start()
    lab.work()
    assert lab.tick() == 0
    lab.bench.later(3600)
    assert lab.tick() == 1
    assert lab.waiting() == ["scrap"]
    assert lab.state(run).resolved.decision == "expired"


def test_a_paused_run_plans_nothing_and_what_is_under_way_goes_on(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two"))
    run = lab.start()
    lab.pause(run, reason="stocktaking")
    lab.work()
    assert (lab.status(run), lab.waiting()) == ("PAUSED", [])
    lab.resume(run)
    assert (lab.status(run), lab.waiting()) == ("RUNNING", ["two"])
    with pytest.raises(NotPaused):
        lab.resume(run)


def waiting_for_signal(lab: FlowLab, **fields: object) -> None:
    lab.define(step("paid", "wait", signal="payment", **fields), task("ship", after="paid", input="$.outputs.paid"))


def test_a_signal_is_the_output_of_the_step_that_waited_for_it(lab: FlowLab) -> None:
    waiting_for_signal(lab)
    run = lab.start()
    assert lab.waiting() == []
    lab.signal(run, "payment", {"amount": 7})
    assert dict(lab.work().item.properties) == {"amount": 7}
    assert lab.status(run) == "COMPLETED"


def test_a_signal_that_comes_early_waits_for_its_step(lab: FlowLab) -> None:
    lab.define(task("pack", on_ok="paid"), step("paid", "wait", signal="payment", on_ok="ship"),
               task("ship", input="$.outputs.paid"))  # fmt: skip
    run = lab.start()
    lab.signal(run, "payment", {"amount": 7}, idempotency_key="p1")
    assert lab.signal(run, "payment", {"amount": 7}, idempotency_key="p1").replayed
    with pytest.raises(IdempotencyConflict):
        lab.signal(run, "payment", {"amount": 8}, idempotency_key="p1")
    lab.work()
    assert lab.waiting() == ["ship"]
    assert dict(lab.work().item.properties) == {"amount": 7}


def test_the_payload_of_a_signal_is_no_part_of_its_fact(lab: FlowLab) -> None:
    waiting_for_signal(lab)
    run = lab.start()
    lab.signal(run, "payment", {"card": "4111-1111"})
    facts = lab.bench.run(lab.storage.journal.load(run.run))
    assert all("4111" not in str(fact.data) for fact in facts)


def test_a_wait_for_a_signal_may_have_a_deadline(lab: FlowLab) -> None:
    waiting_for_signal(lab, deadline="10m")
    run = lab.start()
    lab.bench.later(601)
    lab.tick()
    assert lab.ended(run)[:2] == ("FAILED", "deadline")


def test_a_wait_ends_by_itself(lab: FlowLab) -> None:
    lab.define(step("rest", "wait", duration="30m", on_ok="go"), task("go"))
    run = lab.start()
    lab.bench.later(1799)
    assert lab.tick() == 0
    lab.bench.later(1)
    assert lab.tick() == 1
    assert lab.waiting() == ["go"]
    assert lab.tick() == 0
    lab.work()
    assert lab.status(run) == "COMPLETED"


def test_a_run_that_takes_longer_than_its_deadline_fails_and_its_work_is_canceled(lab: FlowLab) -> None:
    lab.define(task("one"), deadline="1h")
    run = lab.start()
    lab.bench.later(3601)
    lab.tick()
    assert lab.ended(run)[:2] == ("FAILED", "deadline")
    assert lab.waiting() == []


def test_a_step_that_takes_longer_than_its_deadline_is_canceled_and_takes_its_route(lab: FlowLab) -> None:
    lab.define(task("one", deadline="1h", on_error="mend"), task("mend"))
    lab.start()
    (lease,) = lab.take()
    lab.bench.later(3601)
    lab.tick()
    assert lab.waiting() == ["mend"]
    assert lab.bench.state(lease.subject) == "CANCELED"


def test_canceling_ends_the_work_under_way(lab: FlowLab) -> None:
    lab.define(task("one"), task("two"))
    run = lab.start()
    (lease,) = lab.take()
    canceled = lab.cancel(run, reason="no longer wanted")
    assert canceled.status == "CANCELED"
    assert lab.waiting() == []
    assert lab.bench.state(lease.subject) == "CANCELED"
    assert lab.bench.error(lab.bench.complete, lease).code == "stale_lease"
    assert lab.cancel(run).status == "CANCELED"


def test_canceling_between_claim_and_start_of_the_step(lab: FlowLab) -> None:
    lab.define(task("one"))
    run = lab.start()
    lease = lab.bench.take(lab.worker)
    lab.cancel(run)
    assert lab.bench.error(lab.bench.start, lease).code == "stale_lease"
    assert lab.status(run) == "CANCELED"


def test_a_completion_before_the_cancellation_counts(lab: FlowLab) -> None:
    lab.define(task("one"))
    run = lab.start()
    lab.work("done")
    with pytest.raises(RunEnded):
        lab.cancel(run)
    assert lab.status(run) == "COMPLETED"


def test_what_was_done_is_undone_last_first_when_a_run_is_canceled(lab: FlowLab) -> None:
    lab.define(
        task("book", compensate_with="unbook", on_ok="pay"), task("pay", compensate_with="refund", on_ok="ship"),
        task("ship"), task("unbook", input="$.outputs.book"), task("refund", input="$.outputs.pay"),
    )  # fmt: skip
    run = lab.start()
    lab.work({"seat": 1})
    lab.work({"sum": 2})
    lab.cancel(run)
    assert lab.status(run) == "RUNNING"
    assert lab.waiting() == ["refund"]
    assert dict(lab.work().item.properties) == {"sum": 2}
    assert dict(lab.work().item.properties) == {"seat": 1}
    assert lab.status(run) == "CANCELED"


def test_a_subject_canceled_by_an_operator_fails_its_step(lab: FlowLab) -> None:
    lab.define(task("one", on_error="mend"), task("mend"))
    lab.start()
    (item,) = lab.bench.queue_items("q")
    lab.bench.cancel(item.envelope.uid)
    assert lab.waiting() == ["mend"]


def test_a_lease_that_lapses_for_the_last_time_fails_the_step(lab: FlowLab) -> None:
    lab.define(task("one", max_attempts=1))
    run = lab.start()
    lab.take()
    lab.bench.later(10_000)
    lab.bench.sweep()
    assert lab.ended(run)[:2] == ("FAILED", "HEARTBEAT_TIMEOUT")


def test_a_dead_letter_may_wait_for_an_operator(lab: FlowLab) -> None:
    lab.define(task("one", on_dead_letter="wait"))
    run = lab.start()
    lease = lab.fail()
    assert lab.status(run) == "RUNNING"
    lab.bench.requeue(lease.subject, reopen=True, reason="fixed")
    lab.work("now")
    assert lab.status(run) == "COMPLETED"


def test_a_subject_is_not_reopened_once_its_run_does_not_wait_for_it(lab: FlowLab) -> None:
    lab.define(task("one"))
    run = lab.start()
    lease = lab.fail()
    refused = lab.bench.error(lab.bench.requeue, lease.subject, reopen=True, reason="again")
    assert (refused.code, refused.evidence["status"]) == ("invalid_transition", "FAILED")
    assert lab.status(run) == "FAILED"
