"""Torn states, torn at every entry of every append: recovery brings each to where it should have been, and twice is once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tenure.engine.caller import Caller
from tenure.flow.journal import JournalCorrupt
from tests.flow.benches import PostgresBench
from tests.flow.lab import FlowLab, memory_lab, step, task
from tests.flow.test_journal_contract import MemoryBench
from tests.flow.torn import Torn, TornJournal

Scene = Callable[[FlowLab], Any]


def in_a_row(lab: FlowLab) -> Any:
    lab.define(task("one", on_ok="two"), task("two", input="$.outputs.one"), output="$.outputs.two?")
    return lab.start(value={"n": 1}, key="k")


def joined(lab: FlowLab) -> Any:
    lab.define(task("a"), task("b"), task("both", after=["a", "b"], input=["$.outputs.a", "$.outputs.b"]))
    return lab.start(key="k")


def mapped(lab: FlowLab) -> Any:
    each = {"performer": "task", "action": "square", "input": {"n": "$.item"}}
    lab.define(step("all", "map", over="$.input", each=each, max_parallel=2))
    return lab.start(value=[1, 2, 3], key="k")


def with_a_child(lab: FlowLab) -> Any:
    lab.define(task("bake"), name="cake", output="$.outputs.bake")
    lab.define(step("sub", "child", workflow="cake", on_ok="eat"), task("eat", input={"cake": "$.outputs.sub"}))
    return lab.start(key="k")


SCENES: dict[str, Scene] = {"in a row": in_a_row, "joined": joined, "mapped": mapped, "with a child": with_a_child}


def torn_lab() -> tuple[FlowLab, TornJournal]:
    journal = TornJournal()
    return memory_lab(journal), journal


def finish(lab: FlowLab) -> None:
    """Work until nothing is left."""
    lab.drain({"one": 1, "two": 2, "a": 1, "b": 2, "both": 3, "square": 4, "bake": 5, "eat": 6})


@pytest.mark.parametrize("name", SCENES)
def test_each_crash_window_torn_at_every_entry_every_run_comes_to_its_end(name: str) -> None:
    lab, journal = torn_lab()
    SCENES[name](lab)
    finish(lab)
    entries = journal.kept
    assert entries > 3
    for after in range(1, entries + 1):
        lab, journal = torn_lab()
        journal.after = after
        with contextlib.suppress(Torn):
            SCENES[name](lab)
        journal.after = None if journal.kept >= after else after
        for _ in range(4):
            with contextlib.suppress(Torn):
                finish(lab)
        lab.recover()
        again = lab.recover()
        assert again.repaired == [], (after, again)
        SCENES[name](lab)  # a start that was torn is sent again, one that was not is the same run
        finish(lab)
        run = lab.list(key="k")[0]
        assert run.status == "COMPLETED", (after, lab.types(run.uid))


def unfollowed(lab: FlowLab) -> FlowLab:
    """The same laboratory for a caller that nothing follows: what it ends, no run learns of."""
    lab.bench.caller = replace(lab.bench.caller, followers=())
    return lab


@contextlib.contextmanager
def nobody_following(lab: FlowLab) -> Any:
    before: Caller = lab.bench.caller
    lab.bench.caller = replace(before, followers=())
    yield
    lab.bench.caller = before


def test_an_end_that_no_run_learned_of_is_applied(lab: FlowLab) -> None:
    run = in_a_row(lab)
    with nobody_following(lab):
        lab.work("done")
    assert lab.waiting() == []
    assert lab.recover().repaired == [run.run]
    assert lab.waiting() == ["two"]
    assert lab.recover(run).repaired == []


def test_a_dead_letter_that_no_run_learned_of_is_applied(lab: FlowLab) -> None:
    run = in_a_row(lab)
    with nobody_following(lab):
        lab.fail()
    lab.recover()
    assert lab.ended(run)[:2] == ("FAILED", "E1")


def test_work_of_a_run_that_has_ended_is_canceled(lab: FlowLab) -> None:
    run = in_a_row(lab)
    lease = lab.fail()
    with nobody_following(lab):
        lab.bench.requeue(lease.subject, reopen=True, reason="by hand")
    assert lab.waiting() == ["one"]
    assert lab.recover().repaired == [run.run]
    assert lab.waiting() == []


def test_a_start_that_was_torn_before_its_row_is_told_and_may_be_sent_again() -> None:
    lab, journal = torn_lab()
    journal.after = 1
    with pytest.raises(Torn):
        in_a_row(lab)
    found = lab.recover()
    assert len(found.orphans) == 1
    run = in_a_row(lab)
    assert run.status == "RUNNING"
    assert lab.waiting() == ["one"]


def test_a_corrupt_run_does_not_keep_others_from_going_on(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two"))
    bad, good = lab.start(), lab.start()
    damage(lab, bad.run)
    leases = lab.take(limit=2)
    for lease in leases:
        lab.bench.complete(lease, result=1)
    assert lab.waiting() == ["two"]
    lab.work()
    assert lab.status(good) == "COMPLETED"
    with pytest.raises(JournalCorrupt):
        lab.cancel(bad)
    assert lab.recover().corrupt == [bad.run]


def damage(lab: FlowLab, run: int) -> None:
    """Forge the plan of a run."""
    lab.tampered = True
    if lab.bench.name == "memory":
        MemoryBench(lab.storage.tables).damage(run, 2, data={"runnables": []})
        return
    bench = PostgresBench.__new__(PostgresBench)
    bench.connection = lab.connection
    bench.damage(run, 2, data={"runnables": []})


def test_losing_checkpoints_loses_nothing(lab: FlowLab) -> None:
    each = {"performer": "task", "action": "square", "input": {"n": "$.item"}}
    lab.define(step("all", "map", over="$.input", each=each, max_parallel=1), output="$.outputs.all")
    run = lab.start(value=list(range(20)))
    for _ in range(18):
        lab.work(1)
    kept = lab.bench.run(lab.storage.journal.checkpoint(run.run))
    assert kept is not None
    lab.bench.run(lab.storage.journal.put_checkpoints([replace(kept, format=kept.format + 1, state={"junk": 1})]))
    lab.work(1)
    lab.bench.run(lab.storage.journal.put_checkpoints([replace(kept, state={"format": kept.format, "run": "junk"})]))
    lab.work(1)
    assert lab.ended(run) == ("COMPLETED", None, [1] * 20)
