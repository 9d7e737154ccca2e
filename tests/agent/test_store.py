"""The agent's file: durable, of a version that is known, one agent's."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.agent import progress
from tenure.agent.errors import InvalidSettings, StateFolderInUse, StateFolderUnusable, StateTooNew
from tenure.agent.execution import Stage
from tenure.agent.lock import StateLock, holder_of
from tenure.agent.looking import look
from tenure.agent.scheduler import JobStatus, Phase
from tenure.agent.store.opening import FILE, connected
from tenure.agent.store.store import Store
from tests.agent.border import Border, script
from tests.agent.conftest import RunAgent, settings_for
from tests.agent.making import NOW, work
from tests.agent.making import Moody as Local
from tests.agent.test_agent import path_of


def test_what_was_written_is_on_the_disk_before_a_step_is_taken(tmp_path: Path) -> None:
    connection = connected(tmp_path)
    assert connection.execute("pragma journal_mode").fetchone()[0] == "wal"
    assert connection.execute("pragma synchronous").fetchone()[0] == 2  # FULL
    connection.close()


def test_a_file_of_a_newer_version_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("pragma user_version = 99")
    before = (tmp_path / FILE).read_bytes()
    for use in (Store, Store.reading, look):
        with pytest.raises(StateTooNew, match="version 99"):
            use(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("This is no database, though it is long enough to be looked at as one." * 20)
    with pytest.raises(StateFolderUnusable, match="cannot be used"):
        Store(tmp_path)


def test_an_execution_is_written_with_its_events_or_not_at_all(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.receive([work()], NOW)
    with pytest.raises(ZeroDivisionError):
        store.change("e-1", lambda _: 1 / 0, NOW)  # type: ignore[arg-type, return-value]
    store.change("e-1", lambda each: progress.prepared(each, NOW), NOW)
    store.change("e-1", lambda each: progress.submitted(each, "7", NOW, reported=True), NOW)
    store.close()
    again = Store(tmp_path)
    one = again.execution("e-1")
    assert one is not None
    assert (one.stage, one.job_id) == (Stage.SUBMITTED, "7")
    (event,) = again.due_events(NOW, 10)
    assert '"accepted"' in event.body


def test_what_is_given_twice_is_written_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.receive([work(), work(execution_id="e-2")], NOW) == ["e-1", "e-2"]
    store.change("e-1", lambda each: progress.prepared(each, NOW), NOW)
    assert store.receive([work(), work(execution_id="e-3")], NOW) == ["e-3"]
    one = store.execution("e-1")
    assert one is not None
    assert one.stage is Stage.PREPARED


def test_the_next_event_of_an_execution_is_due_when_the_one_before_has_arrived(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.receive([work(), work(execution_id="e-2")], NOW)
    for key in ("e-1", "e-2"):
        store.change(
            key, lambda each: progress.submitted(progress.prepared(each, NOW).execution, "7", NOW, reported=True), NOW
        )  # type: ignore[union-attr]
        status = JobStatus("7", key, Phase.RUNNING)
        store.change(key, lambda each, status=status: progress.seen(each, status, NOW), NOW)  # type: ignore[misc]
    first, second = store.due_events(NOW, 10)
    assert [("accepted" in event.body, event.execution_id) for event in (first, second)] == [
        (True, "e-1"),
        (True, "e-2"),
    ]
    store.postpone(first.event_id, NOW + 50, "503")
    store.settle([second.event_id], "delivered", None, NOW)
    (event,) = store.due_events(NOW, 10)
    assert ("running" in event.body, event.execution_id) == (True, "e-2")
    assert store.next_due_event() == 0.0
    assert {event.execution_id for event in store.due_events(NOW + 50, 10)} == {"e-1", "e-2"}
    assert {event.execution_id for event in store.due_events(NOW - 4000, 10)} == {"e-1", "e-2"}, (
        "the clock was set back"
    )


def test_what_has_ended_and_was_told_is_forgotten_and_nothing_else(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.receive([work(), work(execution_id="e-2"), work(execution_id="e-3")], NOW)
    for key in ("e-1", "e-2"):
        store.change(key, lambda each: progress.given_up(each, progress.CANCELED, NOW), NOW)
    for event in [*store.due_events(NOW, 10)]:
        if event.execution_id == "e-1":
            store.settle([event.event_id], "delivered", None, NOW)
    for event in [*store.due_events(NOW, 10)]:
        if event.execution_id == "e-1":
            store.settle([event.event_id], "parked", "409", NOW)
    assert store.owing() == ["e-2"]
    assert store.forget(NOW) == []
    assert [each.execution_id for each in store.forget(NOW + 1)] == ["e-1"]
    assert store.counts() == {"over": 1, "received": 1}
    assert store.count_events() == {"waiting": 2}


def test_a_state_folder_has_one_agent_and_is_free_when_that_dies(tmp_path: Path) -> None:
    lock = StateLock(tmp_path / "state")
    lock.take()
    with pytest.raises(StateFolderInUse, match="process"):
        StateLock(tmp_path / "state").take()
    lock.release()
    hold = (
        "import sys; from pathlib import Path; from tenure.agent.lock import StateLock\n"
        "StateLock(Path(sys.argv[1])).take(); print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path / "state")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert holder_of(tmp_path / "state") == holder.pid
    holder.kill()
    holder.communicate()
    assert holder_of(tmp_path / "state") is None
    lock.take()
    lock.release()


def test_a_state_folder_stays_with_its_node_and_while_it_has_jobs_with_its_scheduler(
    border: Border, running: RunAgent, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path, border.url)
    execution_id = border.submit(script(tmp_path, "sleep 300"))
    with running(settings):
        border.wait(lambda: "running" in border.states(execution_id), "it runs")
    with (
        pytest.raises(InvalidSettings, match="is node node-1's"),
        running(settings_for(tmp_path, border.url, node="other")),
    ):
        pass
    with (
        pytest.raises(InvalidSettings, match="has executions on local"),
        running(settings_for(tmp_path, border.url, kind="slurm"), Local(tmp_path / "elsewhere")),
    ):
        pass
    with running(settings):
        border.cancel(execution_id)
        border.wait_for_end(execution_id)


def test_an_agent_forgets_what_is_over_and_its_folder_and_nothing_else(
    border: Border, running: RunAgent, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path, border.url, results={"keep_days": 0})
    go = tmp_path / "go"
    over = border.submit(script(tmp_path, "true"))
    with running(settings):
        border.wait_for_end(over)
    assert (settings.work_folder / over / "script").exists()
    runs = border.submit(script(tmp_path, f"while [ ! -e {go} ]; do sleep 0.1; done"))
    with running(settings):
        border.wait(lambda: not (settings.work_folder / over).exists(), "it is tidied up")
        border.wait(lambda: "running" in border.states(runs), "the other one runs")
        assert (settings.work_folder / runs / "script").exists()
        border.wait(lambda: look(settings.folder).executions == {"running": 1}, "nothing else is left")
        go.touch()
        border.wait_for_end(runs)
    completed = border.last(over).result_ref
    assert completed is not None
    assert path_of(completed.output_uri).is_dir(), "results are the payload store's"


@pytest.mark.root
def test_a_full_disk_under_the_state_folder_stops_new_work_and_loses_nothing(
    border: Border, running: RunAgent, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", small], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        settings = settings_for(
            tmp_path, border.url, state_folder=small / "state", results={"store": str(tmp_path / "out")}
        )
        starts, go = tmp_path / "starts", tmp_path / "go"
        first = border.submit(script(tmp_path, f"echo 1 >> {starts}; while [ ! -e {go} ]; do sleep 0.1; done"))
        with running(settings):
            border.wait(lambda: "running" in border.states(first), "it runs")
            with contextlib.suppress(OSError), (small / "filler").open("wb") as filler:
                while True:
                    filler.write(bytes(4096))
                    filler.flush()
            go.touch()
            second = border.submit(script(tmp_path, f"echo 2 >> {starts}"))
            border.wait(lambda: border.polls[-1].accepting == 0, "the server hears that nothing new is of use")
            (small / "filler").unlink()
            border.wait_for_end(first, second)
        assert border.states(first) == border.states(second) == ["accepted", "running", "completed"]
        assert sorted(starts.read_text().split()) == ["1", "2"]
    finally:
        subprocess.run(["umount", "--lazy", small], check=True)
