"""Relays as processes: killed in the middle of a stream, and several of them at once (design 05, Out)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ledger.post import Post, by_thread, threads_of
from tests.ledger.receiver import Receiver
from tests.waiting import until


@pytest.fixture
def post(migrated_database: str) -> Iterator[Post]:
    made = Post(migrated_database, moves=False)  # processes take the database's own time
    yield made
    made.close()


@contextlib.contextmanager
def relay(dsn: str, log: Path, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A relay process with a lease of five seconds; what is left of it is killed in the end."""
    command = [sys.executable, "-m", "tenure.cli", "relay", "--lease", "5", "--poll", "0.05", *more]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    with log.open("ab") as output:
        process = subprocess.Popen(command, env=environment | {"TENURE_DSN": dsn}, stdout=output, stderr=output)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(20)


@pytest.mark.slow
def test_a_relay_that_is_killed_in_the_middle_of_a_stream_loses_nothing(
    post: Post, tmp_path: Path, tell: Callable[..., None]
) -> None:
    with Receiver() as receiver:
        post.subscribe(receiver.url)
        told = post.work(100, facts=4)
        kills = 0
        for goal in (20, 150, 280):
            with relay(post.dsn, tmp_path / "log") as process:
                until(lambda goal=goal: len(receiver.taken) >= goal)  # type: ignore[misc]
                process.send_signal(signal.SIGKILL)
                kills += 1
        with relay(post.dsn, tmp_path / "log"):
            until(lambda: post.standing().delivered >= 1 and set(ids(receiver)) == set(told))

        counted = Counter(ids(receiver))
        tell(f"{kills} kills of a relay in 400 events: {sum(counted.values()) - len(told)} came twice, none was lost")
        assert set(counted) == set(told)
        assert by_thread(receiver.taken) == threads_of(told)
        bodies = {event["id"]: event for event in receiver.taken}
        assert all(event == bodies[event["id"]] for event in receiver.taken)  # what came twice is the same


@pytest.mark.slow
def test_a_relay_that_is_killed_within_the_backlog_of_a_group_keeps_its_order(post: Post, tmp_path: Path) -> None:
    with Receiver() as receiver:
        post.subscribe(receiver.url, group_by="correlation")
        sick, well = post.batch("import 1", 60), post.batch("import 2", 60)
        receiver.answer = lambda event: 500 if event["id"] == sick[0] else 200
        with relay(post.dsn, tmp_path / "log") as process:
            until(lambda: post.rows("select count(*) from tenure.held_event")[0][0] == 59)
            receiver.answer = lambda _: 200
            receiver.wait_for(75)
            process.send_signal(signal.SIGKILL)
        with relay(post.dsn, tmp_path / "log"):
            until(lambda: set(ids(receiver)) == {*sick, *well})

        came = list(dict.fromkeys(ids(receiver)))
        assert [each for each in came if each in set(sick)] == sick
        assert [each for each in came if each in set(well)] == well


@pytest.mark.slow
def test_of_two_relays_one_leads_and_the_other_takes_over(post: Post, tmp_path: Path) -> None:
    with Receiver() as receiver:
        post.subscribe(receiver.url)
        with relay(post.dsn, tmp_path / "one") as one:
            told = post.work(5)
            receiver.wait_for(5)
            first = post.standing().leader
            assert first is not None
            assert f":{one.pid}:" in first
            with relay(post.dsn, tmp_path / "two") as two:
                until(lambda: "Relaying" in (tmp_path / "two").read_text())
                told = post.work(5)
                receiver.wait_for(10)
                assert sorted(ids(receiver)) == sorted(told)  # each once: there is one leader

                one.send_signal(signal.SIGKILL)
                one.wait(10)
                told = post.work(5)
                until(lambda: set(ids(receiver)) == set(told))  # what the other one had no time to note comes twice
                assert f":{two.pid}:" in str(post.standing().leader)

                two.send_signal(signal.SIGTERM)
                assert two.wait(20) == 0
                until(lambda: post.standing().leader is None, 5)  # given back, not run out

        assert by_thread(receiver.taken) == threads_of(told)


def ids(receiver: Receiver) -> list[str]:
    return [event["id"] for event in receiver.taken]
