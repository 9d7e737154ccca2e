"""Code-first steps in plain jobs: a plain job is a workflow of one step, from the moment its code keeps something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tenure.flow.engine import asking, code, reading
from tenure.flow.engine.code import Holder
from tenure.sdk.client import Tenure
from tenure.sdk.job import Job
from tenure.sdk.outcomes import Fail, Retry
from tenure.testing import MovableClock, drain
from tests.flow.lab import FlowLab


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def app(migrated_database: str, clock: MovableClock) -> Iterator[Tenure]:
    with Tenure(migrated_database, clock=clock, actor="user:ada") as client:
        client.define_queue("q", max_attempts_default=5)
        yield client
        report = client.verify()
        assert report.clean, report.first


def job(lab: FlowLab, **fields: Any) -> tuple[int, Holder]:
    """A plain job in the hands of a worker."""
    lab.bench.define_queue("q")
    subject = lab.bench.subject(next_action_key="mail.send", properties={"to": "ada"}, **fields)
    (lease,) = lab.take()
    return subject, Holder(subject, lease.lease, lab.worker.uid)


def run_of(lab: FlowLab, subject: int) -> int:
    return lab.run(reading.runnable_of, subject).run


def test_a_plain_job_that_keeps_a_step_is_a_run_of_one_step(lab: FlowLab) -> None:
    subject, holder = job(lab)
    assert lab.run(code.kept, holder, "first") is None
    assert lab.run(reading.runnable_of, subject) is None
    assert lab.run(code.keep, holder, "first", {"n": 1}).value == {"n": 1}
    assert lab.run(code.keep, holder, "first", {"n": 2}).value == {"n": 1}
    assert lab.run(code.kept, holder, "first").value == {"n": 1}
    run = run_of(lab, subject)
    assert lab.types(run) == ["run.started", "run.runnables_planned", "run.step_kept"]
    row = lab.row(run)
    assert (row.name.startswith("job.mail-send."), row.status, row.input) == (True, "RUNNING", {"to": "ada"})


def test_the_end_of_the_job_is_the_end_of_its_run(lab: FlowLab) -> None:
    lab.bench.define_queue("q")
    subject = lab.bench.subject(next_action_key="mail.send")
    (lease,) = lab.take()
    lab.run(code.keep, Holder(subject, lease.lease, lab.worker.uid), "first", 1)
    lab.bench.complete(lease, result={"sent": 2})
    assert lab.ended(run_of(lab, subject)) == ("COMPLETED", None, {"sent": 2})


def test_jobs_of_one_kind_share_a_workflow_and_those_of_another_do_not(lab: FlowLab) -> None:
    lab.bench.define_queue("q")
    for action in ("a", "a", "b"):
        subject = lab.bench.subject(next_action_key=action)
        (lease,) = lab.take()
        lab.run(code.keep, Holder(subject, lease.lease, lab.worker.uid), "first", 1)
    names = [row.name for row in lab.list()]
    assert (len(names), len(set(names))) == (3, 2)


def test_a_job_that_gave_up_goes_on_once_an_operator_requeues_it(lab: FlowLab) -> None:
    lab.bench.define_queue("q", max_attempts_default=1)
    subject = lab.bench.subject(next_action_key="a")
    (lease,) = lab.take()
    lab.run(code.keep, Holder(subject, lease.lease, lab.worker.uid), "first", 1)
    lab.bench.fail(lease, error_class="PERMANENT_INPUT", error_code="E1")
    run = run_of(lab, subject)
    assert lab.status(run) == "RUNNING"
    assert "dead_lettered" in [r.code for r in lab.run(reading.explain, run)]
    lab.bench.requeue(subject, queue_key="q", reopen=True, reason="mended")
    (again,) = lab.take()
    holder = Holder(subject, again.lease, lab.worker.uid)
    assert lab.run(code.kept, holder, "first").value == 1
    lab.bench.complete(again, result="done")
    assert lab.ended(run)[0] == "COMPLETED"


def test_a_canceled_job_ends_its_run(lab: FlowLab) -> None:
    subject, holder = job(lab)
    lab.run(code.keep, holder, "first", 1)
    lab.bench.cancel(subject, reason="withdrawn")
    assert lab.ended(run_of(lab, subject))[:2] == ("FAILED", "canceled")


def test_a_signal_to_a_plain_job_waits_for_its_code(lab: FlowLab) -> None:
    lab.bench.define_queue("q")
    subject = lab.bench.subject(next_action_key="a")
    told = lab.run(asking.signal_subject, subject, "paid", {"sum": 3}, idempotency_key="k")
    assert lab.run(asking.signal_subject, subject, "paid", {"sum": 3}, idempotency_key="k").replayed
    (lease,) = lab.take()
    holder = Holder(subject, lease.lease, lab.worker.uid)
    assert lab.run(code.take_signal, holder, "paid", 1).value == {"sum": 3}
    assert lab.run(code.take_signal, holder, "paid", 2) is None
    assert run_of(lab, subject) == told.run


def test_a_signal_to_a_job_that_has_ended_is_refused(lab: FlowLab) -> None:
    lab.bench.define_queue("q")
    subject = lab.bench.subject()
    lab.work()
    assert lab.bench.error(lab.run, asking.signal_subject, subject, "paid").code == "state_conflict"


def test_a_plain_job_starts_a_child_once(lab: FlowLab) -> None:
    _, holder = job(lab)
    lab.define({"name": "bake", "performer": "task", "queue": "oven"}, name="cake")
    first = lab.run(code.start_child, holder, "cake", {}, "k")
    assert lab.run(code.start_child, holder, "cake", {}, "k") == first
    assert lab.row(first).parent_run == run_of(lab, holder.subject)


def test_code_of_a_plain_job_whose_lease_ran_out_keeps_nothing(lab: FlowLab) -> None:
    subject, holder = job(lab)
    lab.bench.later(10_000)
    assert lab.bench.error(lab.run, code.keep, holder, "x", 1).code == "lease_expired"
    assert lab.run(reading.runnable_of, subject) is None


def test_who_does_not_prove_the_lease_keeps_nothing(lab: FlowLab) -> None:
    subject, holder = job(lab)
    stranger = Holder(holder.subject, holder.lease, holder.worker, b"x" * 32)
    assert lab.bench.error(lab.run, code.keep, stranger, "x", 1).code == "forbidden"
    assert lab.bench.error(lab.run, code.look, stranger, "x").code == "forbidden"
    assert lab.run(reading.runnable_of, subject) is None


def test_a_job_that_several_hold_keeps_no_steps(lab: FlowLab) -> None:
    _, holder = job(lab, slots=2)
    assert lab.bench.error(lab.run, code.keep, holder, "x", 1).code == "invalid_request"


def test_what_became_a_runnable_never_ceases_to_be_one(migrated_database: str, app: Tenure) -> None:
    @app.task(queue="q", key="mail")
    def mail(job: Job) -> None:
        job.step("first", lambda: 1)

    subject = mail.submit().subject
    other = app.submit(queue_key="q", next_action_key="x").subject
    drain(app)
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        with pytest.raises(psycopg.Error, match="cannot cease"):
            connection.execute("update tenure.execution set in_run = false where uid = %s", [subject])
        with pytest.raises(psycopg.Error, match="is not there"):
            connection.execute("update tenure.execution set in_run = true where uid = %s", [other])


def test_a_task_keeps_sleeps_waits_and_starts_children_as_a_plain_job(app: Tenure, clock: MovableClock) -> None:
    done: list[str] = []

    @app.task(queue="q", key="bake")
    def bake(n: int) -> int:
        return n * 2

    @app.task(queue="q", key="mail")
    def mail(job: Job, to: str) -> list[Any]:
        first = job.step("first", lambda: done.append(to) or len(done))
        job.sleep(60)
        child = job.start_child("cake", {"n": 4}, key="only")
        return [first, job.wait_event("go"), child]

    app.workflow("cake", queue="q", output="$.outputs.bake").task("bake")
    app.define_workflows()
    subject = mail.submit("ada").subject
    drain(app)
    assert (done, app.leases()) == (["ada"], [])
    clock.advance(seconds=61)
    drain(app)
    app.signal_job(subject, "go", 7)
    drain(app)
    standing = app.inspect(subject)
    assert standing.situation.thread.envelope.state == "COMPLETED"
    (run,) = [row for row in app.runs() if row.name.startswith("job.mail.")]
    (child,) = app.inspect_run(run).children
    assert run.output[:2] == [1, 7]
    assert (done, child.status, child.output) == (["ada"], "COMPLETED", 8)
    assert "run.step_kept" in [moment.type for moment in app.run_timeline(run)]


def test_a_plain_job_goes_on_behind_the_last_kept_step_after_a_crash(app: Tenure, clock: MovableClock) -> None:
    done: list[str] = []
    tries: list[int] = []

    @app.task(queue="q", key="mail")
    def mail(job: Job) -> str:
        tries.append(job.attempt_number)
        job.step("a", lambda: done.append("a"))
        if len(tries) == 1:
            raise Retry("the machine is gone", after_seconds=1)
        job.step("b", lambda: done.append("b"))
        if len(tries) == 2:
            raise Fail("no use", error_class="PERMANENT_INPUT")
        return "through"

    mail.submit()
    drain(app)
    clock.advance(minutes=5)
    drain(app)
    assert done == ["a", "b"]
    (letter,) = app.dead_letters()
    app.requeue(letter.letter.subject, queue_key="q", reopen=True, reason="try again")
    drain(app)
    assert done == ["a", "b"]
    assert app.runs()[0].status == "COMPLETED"
