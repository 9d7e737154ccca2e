"""The short cut for plain ends of steps: it writes what the common way writes, and leaves what has changed since the look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.engine.actions.complete import complete_many, finish_followed
from tenure.engine.actions.queues import retire_queue
from tenure.flow.engine.beginning import Start
from tenure.flow.engine.remembering import MOST, Folded, Remembered
from tenure.flow.engine.results import RunResult
from tenure.flow.engine.starting import start_many
from tenure.flow.journal import Position
from tenure.flow.model.state import RunState
from tenure.model.errors import Forbidden, LeaseExpired
from tenure.model.json_text import payload_hash
from tenure.model.requests import CompleteExecution
from tenure.model.result import ActionResult
from tenure.sdk.session import opened
from tenure.store.operation import Op, Statement
from tenure.store.records import Finish
from tests.flow.lab import FlowLab, postgres_lab, step, task


@pytest.fixture
def lab(migrated_database: str) -> Iterator[FlowLab]:
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        opened(connection)
        made = postgres_lab(connection)
        yield made
        assert made.verified().clean, made.verified().first


def driven(op: Op[Any], names: Counter[str], before: dict[str, Callable[[], Any]]) -> Op[Any]:
    """``op``, its statements counted; ahead of a statement named in ``before``, once, that happens."""
    answer: Any = None
    while True:
        try:
            step = op.send(answer)
        except StopIteration as stop:
            return stop.value
        if isinstance(step, Statement):
            names[step.name] += 1
            if (act := before.pop(step.name, None)) is not None:
                act()
        answer = yield step


def complete(
    lab: FlowLab, leases: Sequence[Any], before: dict[str, Callable[[], Any]] | None = None, **fields: Any
) -> tuple[list[Any], Counter[str]]:
    """Complete these leases as one set; the outcomes, and what it took."""
    requests = [
        CompleteExecution(
            lease=one.lease, worker=lab.worker.uid, token_hash=one.token.digest, result={"n": 1}, **fields
        )
        for one in leases
    ]  # fmt: skip
    names: Counter[str] = Counter()
    outcomes = lab.run(lambda caller: driven(complete_many(caller, requests), names, before or {}))
    return outcomes, names


def told(lab: FlowLab, run: Any) -> list[Any]:
    """What the facts of a run say, without what differs from run to run."""
    facts = lab.bench.run(lab.storage.journal.load(run.run))
    return [(f.type, {k: v for k, v in (f.data or {}).items() if k not in ("ref", "children", "key")}) for f in facts]


def rows(lab: FlowLab, run: Any) -> list[Any]:
    """The subjects of a run as they stand, with their facts and their edges."""
    assert lab.connection is not None
    return lab.connection.execute(
        """select k.runnable_key, k.step, k.iteration, k.retry, e.state::text, e.revision, e.seq, e.next_queue_key,
            e.next_action_key, e.priority, e.due_at - e.created_at, e.max_attempts_override, e.slots_total, s.name,
            s.properties, t.code,
            (select array_agg(f.type order by f.seq) from tenure.fact f where f.thread = e.uid),
            (select array_agg(l.relation || ' ' || coalesce(p.runnable_key, 'root') order by l.relation, p.runnable_key)
                from tenure.link l left join tenure.runnable p on p.subject = l.parent where l.child = e.uid),
            (select array_agg(a.result) from tenure.attempt a where a.subject = e.uid),
            (select array_agg(a.record_status::text) from tenure.attempt a where a.subject = e.uid)
        from tenure.runnable k join tenure.execution e on e.uid = k.subject join tenure.subject s on s.uid = k.subject
        join tenure.template t on t.uid = s.template where k.run = %s order by k.subject""",
        [run.run],
    ).fetchall()


def chain(lab: FlowLab) -> None:
    """A fork, a join whose parents end apart, a route, retries, priorities, deadlines: what plans look like."""
    lab.define(
        task("draw", priority=3),
        task("left", after="draw", input={"n": "$.outputs.draw.n"}, max_attempts=7, deadline="1h"),
        task("right", after="draw", input={"n": "$.input.n"}, retry={"initial_delay_seconds": 5}),
        task("join", after=["left", "right"], input={"l": "$.outputs.left.n", "r": "$.outputs.right.n"}),
        output={"n": "$.outputs.join.n"},
    )  # fmt: skip


def test_it_writes_what_the_common_way_writes(lab: FlowLab) -> None:
    chain(lab)
    root = lab.bench.submit().subject
    runs = {}
    for keyed in (False, True):
        run = runs[keyed] = lab.start(value={"n": 4}, root=root)
        count = 0
        while leases := lab.take():
            count += 1
            fields = {"idempotency_key": f"end {count} of {run.run}"} if keyed else {}
            outcomes, names = complete(lab, leases, **fields)
            assert isinstance(outcomes[0], ActionResult)
            assert ("hand_over" in names, "apply" in names) == (not keyed, keyed)
        assert lab.ended(run) == ("COMPLETED", None, {"n": 1})
    quick, common = (rows(lab, runs[keyed]) for keyed in (False, True))
    assert quick == common
    assert len(quick) == 4
    assert told(lab, runs[False]) == told(lab, runs[True])


def test_a_run_that_moved_on_since_it_was_looked_at_takes_the_common_way(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two"))
    runs = [lab.start() for _ in range(3)]
    leases = lab.take(limit=3)
    outcomes, names = complete(lab, leases, {"hand_over": lambda: lab.pause(runs[1])})
    assert all(isinstance(outcome, ActionResult) for outcome in outcomes)
    assert (names["hand_over"], names["apply"]) == (1, 1)
    assert [lab.status(run) for run in runs] == ["RUNNING", "PAUSED", "RUNNING"]
    assert lab.waiting() == ["two", "two"]
    lab.resume(runs[1])
    assert lab.waiting() == ["two"] * 3


def test_a_lease_that_ran_out_since_the_look_completes_nothing(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two"))
    run = lab.start()
    leases = lab.take()
    later = lab.bench.now + timedelta(days=1)
    outcomes, names = complete(lab, leases, {"hand_over": lambda: lab.bench.at(later)})
    assert isinstance(outcomes[0], LeaseExpired)
    assert names["hand_over"] == 1
    assert "run.runnable_applied" not in lab.types(run)


def test_a_subject_that_changed_since_the_look_takes_the_common_way(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two"))
    lab.start()
    leases = lab.take()
    outcomes, names = complete(lab, leases, {"hand_over": lambda: lab.bench.renew(leases[0])})
    assert isinstance(outcomes[0], ActionResult)
    assert (names["hand_over"], names["apply"]) == (1, 1)
    assert lab.waiting() == ["two"]


def test_a_queue_that_closed_has_its_work_wait_without_a_queue(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two", queue="q2"))
    run = lab.start()
    leases = lab.take()
    lab.bench.perform(retire_queue, "q2", "closed")
    outcomes, names = complete(lab, leases)
    assert isinstance(outcomes[0], ActionResult)
    assert (names["hand_over"], names["apply"]) == (1, 1)
    assert [row[0] for row in rows(lab, run) if row[4] == "PENDING" and row[7] is None] == ["two"]


def test_somebody_elses_token_completes_nothing_and_keeps_nothing_else_from_it(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two"))
    lab.start()
    lab.start()
    mine, other = lab.take(limit=2)
    requests = [
        CompleteExecution(lease=mine.lease, worker=lab.worker.uid, token_hash=mine.token.digest),
        CompleteExecution(lease=other.lease, worker=lab.worker.uid, token_hash=bytes(32)),
    ]
    outcomes = lab.run(lambda caller: complete_many(caller, requests))
    assert isinstance(outcomes[0], ActionResult)
    assert isinstance(outcomes[1], Forbidden)
    assert lab.waiting() == ["two"]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([task("one", on_ok="sub"), step("sub", "child", workflow="order")], "a child begins"),
        ([task("one", on_ok="ok"), step("ok", "approval")], "hand_over"),
        ([task("one", on_ok="pay"), step("pay", "wait", signal="paid", deadline="1h")], "hand_over"),
    ],
)
def test_what_follows_decides_the_way(lab: FlowLab, steps: list[dict[str, Any]], expected: str) -> None:
    lab.define(task("only"))
    lab.define(*steps, name="other")
    run = lab.start("other")
    outcomes, names = complete(lab, lab.take())
    assert isinstance(outcomes[0], ActionResult)
    assert ("hand_over" in names) == (expected == "hand_over")
    assert "run.runnable_applied" in lab.types(run)


def test_a_childs_last_step_is_applied_to_its_parent_too(lab: FlowLab) -> None:
    lab.define(task("only"), output="$.outputs.only")
    lab.define(step("sub", "child", workflow="order"), output="$.outputs.sub", name="other")
    run = lab.start("other")
    outcomes, names = complete(lab, lab.take())
    assert isinstance(outcomes[0], ActionResult)
    assert "hand_over" not in names
    assert lab.ended(run) == ("COMPLETED", None, {"n": 1})


def test_a_long_run_keeps_checkpoints_on_this_way_too(lab: FlowLab) -> None:
    each = {"performer": "task", "action": "square", "input": {"n": "$.item"}}
    lab.define(step("all", "map", over="$.input", each=each, max_parallel=1))
    run = lab.start(value=list(range(20)))
    for _ in range(18):
        _, names = complete(lab, lab.take())
        assert names["hand_over"] == 1
    assert lab.bench.run(lab.storage.journal.checkpoint(run.run)) is not None


def test_it_begins_runs_as_the_common_way_begins_them(lab: FlowLab) -> None:
    chain(lab)
    lab.define(step("wait", "wait", signal="go", deadline="1h"), name="waits")
    for name in ("order", "waits"):
        plain, keyed = lab.start(name, {"n": 4}), lab.start(name, {"n": 4}, key="k")
        assert rows(lab, plain) == rows(lab, keyed)
        assert told(lab, plain) == told(lab, keyed)
        shown = [replace(lab.row(run), uid=0, run_key=None, correlation_id=None, head=b"") for run in (plain, keyed)]
        assert shown[0] == shown[1]
        assert lab.state(plain).seq == plain.seq == keyed.seq


def test_runs_that_cannot_begin_plainly_begin_beside_those_that_can(lab: FlowLab) -> None:
    lab.define(task("one"), input_schema={"type": "object", "required": ["n"]})
    lab.define(step("sub", "child", workflow="order", input={"n": 1}), name="parent")
    starts = [
        Start("order", {"n": 1}),
        Start("order", {}),
        Start("nothing", {}),
        Start("order", {"n": 2}, "k"),
        Start("parent", {}),
    ]
    names: Counter[str] = Counter()
    outcomes = lab.run(lambda caller: driven(start_many(caller, starts), names, {}))
    kinds = [
        getattr(outcome, "status", None) if isinstance(outcome, RunResult) else outcome.code for outcome in outcomes
    ]
    assert kinds == ["RUNNING", "invalid_payload", "workflow_unknown", "RUNNING", "RUNNING"]
    assert (names["hand_over"], names["journal_append"]) == (1, 1)
    assert lab.waiting() == ["one"] * 3


def test_a_run_whose_queue_is_closed_begins_and_waits_without_a_queue(lab: FlowLab) -> None:
    lab.define(task("one", queue="q2"))
    lab.bench.perform(retire_queue, "q2", "closed")
    run = lab.start()
    assert [row[7] for row in rows(lab, run)] == [None]


def finish(lab: FlowLab, before: dict[str, Callable[[], Any]] | None = None) -> int:
    """Complete the next step as a worker does, which knows its subject; how many steps were completed."""
    leases = lab.take()
    finishes = [
        Finish(one.lease, one.token.digest, payload_hash({"result": {"n": 1}}), {"n": 1}, subject=one.subject)
        for one in leases
    ]
    names: Counter[str] = Counter()
    done = lab.run(lambda caller: driven(finish_followed(caller, lab.worker.uid, finishes), names, before or {}))
    return len(done)


def test_what_was_written_here_is_not_read_again(lab: FlowLab) -> None:
    chain(lab)
    run, other = lab.start(value={"n": 4}), lab.start(value={"n": 4}, key="other")
    read: list[int] = []
    while lab.status(run) == "RUNNING" or lab.status(other) == "RUNNING":
        known = {folded.run: folded.end.rev for folded in lab.flow.remembered._by_subject.values()}
        read.append(sum(known.values()))
        assert finish(lab) == 1
    assert any(read)
    assert len(lab.flow.remembered) == 0
    assert lab.ended(run) == lab.ended(other) == ("COMPLETED", None, {"n": 1})
    assert told(lab, run) == told(lab, other)


def test_what_was_told_since_is_folded_on(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two", on_ok="pay"), step("pay", "wait", signal="paid", deadline="1h"))
    run = lab.start()
    assert finish(lab) == 1
    assert len(lab.flow.remembered) == 1
    lab.pause(run)
    lab.signal(run, "paid", {"sum": 3})
    lab.resume(run)
    assert finish(lab) == 1
    assert lab.ended(run)[0] == "COMPLETED"


def test_what_is_remembered_and_is_not_so_is_read_anew(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two"))
    run = lab.start()
    assert finish(lab) == 1
    ((subject, folded),) = lab.flow.remembered._by_subject.items()
    lab.flow.remembered.keep([subject], folded._replace(end=Position(folded.end.rev, bytes(32))))
    (lease,) = lab.take()
    done = Finish(lease.lease, lease.token.digest, payload_hash({"result": 1}), 1, subject=subject)
    assert lab.run(lambda caller: finish_followed(caller, lab.worker.uid, [done])) == {}
    outcomes, names = complete(lab, [lease])
    assert isinstance(outcomes[0], ActionResult)
    assert names["hand_over"] == 1
    assert lab.status(run) == "COMPLETED"


def test_only_so_much_is_remembered() -> None:
    remembered = Remembered()
    folded = Folded(1, Position(1, b""), RunState(run=1), 0)
    remembered.keep(range(MOST + 10), folded)
    assert len(remembered) == MOST
    assert remembered.take([0, None]) == {}
    further = folded._replace(end=Position(2, b""))
    remembered.keep([1], further)
    assert remembered.take([MOST, 1, MOST + 1]) == {1: further}
    assert len(remembered) == MOST - 3
