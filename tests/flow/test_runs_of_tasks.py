"""Runs of task steps: in a row, with joins, with routes; what ends a step's subject moves its run."""

from __future__ import annotations

from tests.flow.lab import FlowLab, task


def test_a_plain_job_is_a_workflow_of_one_step(lab: FlowLab) -> None:
    lab.define(task("only"), output={"got": "$.outputs.only.n"})
    run = lab.start(value={"n": 1})
    assert (run.status, lab.waiting()) == ("RUNNING", ["only"])
    lease = lab.work({"n": 2})
    assert dict(lease.item.properties) == {"n": 1}
    assert lab.ended(run) == ("COMPLETED", None, {"got": 2})
    assert lab.types(run) == [
        "run.started", "run.runnables_planned", "run.runnable_applied", "run.terminal",
    ]  # fmt: skip


def test_the_next_step_is_planned_and_submitted_with_the_end_of_the_one_before(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two", input={"from": "$.outputs.one"}), output="$.outputs.two")
    run = lab.start()
    assert lab.waiting() == ["one"]
    lab.work({"x": 5})
    assert lab.waiting() == ["two"]
    lease = lab.work("done")
    assert dict(lease.item.properties) == {"from": {"x": 5}}
    assert lab.ended(run) == ("COMPLETED", None, "done")


def test_a_join_waits_for_all_that_it_joins(lab: FlowLab) -> None:
    lab.define(
        task("a"),
        task("b"),
        task("both", after=["a", "b"], input=["$.outputs.a", "$.outputs.b"]),
        output="$.outputs.both",
    )
    run = lab.start()
    assert sorted(lab.waiting()) == ["a", "b"]
    lab.work(lambda lease: str(lease.item.next_action_key))
    assert len(lab.waiting()) == 1
    assert "both" not in lab.waiting()
    lab.work(lambda lease: str(lease.item.next_action_key))
    assert lab.waiting() == ["both"]
    lease = lab.work(1)
    assert dict(lease.item.properties) == {"value": ["a", "b"]}
    assert lab.status(run) == "COMPLETED"


def test_the_route_whose_condition_holds_is_taken_and_kept(lab: FlowLab) -> None:
    lab.define(
        task("weigh", routes=[
            {"to": "heavy", "when": {"path": "$.outputs.weigh.kg", "op": "gt", "value": 10}}, {"to": "light"},
        ]),
        task("heavy"), task("light"), output={"heavy": "$.outputs.heavy?", "light": "$.outputs.light?"},
    )  # fmt: skip
    heavy, light = lab.start(), lab.start()
    lab.work({"kg": 11})
    lab.work({"kg": 9})
    assert sorted(lab.waiting()) == ["heavy", "light"]
    lab.drain({"heavy": 1, "light": 2})
    assert lab.ended(heavy)[2] == {"heavy": 1, "light": None}
    assert lab.ended(light)[2] == {"heavy": None, "light": 2}
    assert lab.state(heavy).steps["weigh"].routes == (0,)


def test_a_dead_letter_fails_the_run(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two"))
    run = lab.start()
    lab.fail()
    assert lab.ended(run) == ("FAILED", "E1", None)
    assert lab.waiting() == []


def test_a_dead_letter_takes_the_route_for_errors(lab: FlowLab) -> None:
    lab.define(task("one", on_error="mend"), task("mend", input={"why": "$.errors.one.code"}), output="$.outputs.mend?")
    run = lab.start()
    lab.fail()
    assert lab.waiting() == ["mend"]
    assert dict(lab.work("mended").item.properties) == {"why": "E1"}
    assert lab.ended(run) == ("COMPLETED", None, "mended")


def test_a_failure_that_is_tried_again_is_no_end_of_the_step(lab: FlowLab) -> None:
    lab.define(task("one"))
    run = lab.start()
    (lease,) = lab.take()
    lab.bench.fail(lease, retryable=True)
    assert lab.status(run) == "RUNNING"
    lab.bench.later(3600)
    lab.work("at last")
    assert lab.status(run) == "COMPLETED"


def test_when_one_of_parallel_steps_fails_the_others_are_canceled(lab: FlowLab) -> None:
    lab.define(task("a"), task("b"), task("both", after=["a", "b"]))
    run = lab.start()
    lab.fail()
    assert lab.ended(run)[:2] == ("FAILED", "E1")
    assert lab.waiting() == []
    assert sorted(s.state for s in lab.bench.run(lab.storage.standings([run.run], everything=True))) == [
        "CANCELED", "FAILED_TERMINAL",
    ]  # fmt: skip
