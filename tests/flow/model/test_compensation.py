"""What was done is undone, last first, when a run fails or is canceled (design 02, recovery policy)."""

from __future__ import annotations

from tenure.flow.model.builder import Workflow, to, when
from tests.flow.model.scene import RunScene


def order() -> Workflow:
    return (
        Workflow("order", queue="shop")
        .task("reserve", compensate_with="restock")
        .task("charge", after="reserve", compensate_with="refund")
        .task("ship", after="charge")
        .task("restock", input={"of": "$.outputs.reserve"}).task("refund", input={"of": "$.outputs.charge"})
    )  # fmt: skip


def failed() -> RunScene:
    scene = RunScene(order().define()).start()
    scene.ok("reserve", "r1")
    scene.ok("charge", "c1")
    scene.error("ship", "lost")
    return scene


def test_a_failure_undoes_what_was_done_in_reverse_order_with_its_own_outputs() -> None:
    scene = failed()
    assert (scene.status, scene.open, scene.payload("refund")) == ("RUNNING", ["refund"], {"of": "c1"})
    scene.ok("refund")
    assert (scene.open, scene.payload("restock")) == (["restock"], {"of": "r1"})
    scene.ok("restock")
    assert (scene.status, scene.state.end.code, scene.state.end.step) == ("FAILED", "lost", "ship")
    plan = scene.told("compensation_planned")[0]
    assert [(undo["step"], undo["undo"]) for undo in plan["steps"]] == [("charge", "refund"), ("reserve", "restock")]


def test_a_cancel_undoes_as_well() -> None:
    scene = RunScene(order().define()).start()
    scene.ok("reserve")
    scene.cancel(reason="changed my mind")
    assert scene.open == ["charge"]
    scene.canceled("charge")
    assert scene.open == ["restock"]
    scene.ok("restock")
    assert (scene.status, scene.state.end.message) == ("CANCELED", "changed my mind")


def test_a_late_completion_is_kept_and_undone() -> None:
    scene = RunScene(order().define()).start()
    scene.ok("reserve")
    scene.cancel()
    scene.ok("charge", "c1")
    assert (scene.open, scene.payload("refund")) == (["refund"], {"of": "c1"})


def test_a_compensation_that_fails_ends_the_run_and_says_so() -> None:
    scene = failed()
    scene.error("refund")
    assert (scene.status, scene.state.end.code) == ("FAILED", "compensation_failed")


def test_a_compensation_that_cannot_be_given_its_input_ends_the_run() -> None:
    flow = (
        Workflow("bad", queue="q")
        .task("a", compensate_with="undo")
        .task("b", after="a")
        .task("undo", input="$.outputs.a.x.y")
    )
    scene = RunScene(flow.define()).start()
    scene.ok("a", 1)
    scene.error("b")
    assert (scene.status, scene.state.end.code) == ("FAILED", "compensation_failed")
    assert scene.state.end.message == "$.outputs.a.x.y at input finds nothing"


def test_each_time_round_is_undone_with_what_it_gave() -> None:
    flow = (
        Workflow("rounds", queue="q").task("a", compensate_with="undo")
        .task("b", after="a", routes=[to("a", when("$.outputs.b", "eq", "again"), limit=2)]).task("undo", input="$.outputs.a")
    )  # fmt: skip
    scene = RunScene(flow.define()).start()
    scene.ok("a", "first")
    scene.ok("b", "again")
    scene.ok("a#2", "second")
    scene.error("b#2")
    assert (scene.open, scene.payload("undo#2")) == (["undo#2"], "second")
    scene.ok("undo#2")
    assert (scene.open, scene.payload("undo")) == (["undo"], "first")
    scene.ok("undo")
    assert scene.status == "FAILED"


def test_what_failed_itself_and_what_never_ran_is_not_undone() -> None:
    scene = RunScene(order().define()).start()
    scene.ok("reserve")
    scene.error("charge")
    assert scene.open == ["restock"]


def test_the_end_names_what_cannot_be_undone() -> None:
    flow = Workflow("hard", queue="q").task("burn", recovery="irreversible").task("b", after="burn").define()
    scene = RunScene(flow).start()
    scene.ok("burn")
    scene.error("b")
    assert scene.told("terminal")[0]["irreversible"] == ["burn"]


def test_transaction_step_rolled_back() -> None:
    flow = (
        Workflow("tx", queue="q").task("write", recovery="transaction", compensate_with="unwrite").task("b", after="write")
        .task("unwrite")
    )  # fmt: skip
    scene = RunScene(flow.define()).start()
    scene.error("write")  # its effects went with its transaction: nothing is left to undo
    assert (scene.status, scene.state.done) == ("FAILED", ())
    scene = RunScene(flow.define()).start()
    scene.ok("write")
    scene.error("b")
    assert scene.open == ["unwrite"]


def test_a_child_run_can_undo() -> None:
    flow = (
        Workflow("c", queue="q").child("a", "make", compensate_with="undo").task("b", after="a").child("undo", "unmake")
    )
    scene = RunScene(flow.define()).start()
    scene.ok("a")
    scene.error("b")
    assert (scene.open, scene.told("child_started")[-1]["workflow"]) == (["undo"], "unmake")
    scene.ok("undo")
    assert scene.status == "FAILED"


def test_a_cancel_while_it_undoes_changes_nothing() -> None:
    scene = failed()
    assert scene.cancel().facts == ()
    scene.ok("refund")
    scene.ok("restock")
    assert scene.status == "FAILED"
