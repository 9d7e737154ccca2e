"""What a crash, a reboot or a kill leaves behind does not stop the next start."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tenure.embedded import Cluster, State
from tenure.embedded.account import account_for
from tenure.embedded.pidfile import alive, serves

MakeCluster = Callable[..., Cluster]


@pytest.fixture
def stopped(make_cluster: MakeCluster) -> Cluster:
    cluster = make_cluster()
    cluster.start()
    cluster.stop()
    return cluster


@pytest.fixture
def bystander(stopped: Cluster) -> Iterator[subprocess.Popen[bytes]]:
    """A living program of the server's own user that is no PostgreSQL."""
    account = account_for(stopped.data_dir)
    program = subprocess.Popen(["sleep", "600"], cwd="/", user=account.uid if account.switch else None)
    yield program
    program.kill()
    program.wait()


def leave_pid_file(cluster: Cluster, pid: int) -> None:
    """Write what a crashed server leaves: its pid file, its socket's lock."""
    folder = cluster.data_dir
    (folder / "pgdata" / "postmaster.pid").write_text(
        f"{pid}\n{folder / 'pgdata'}\n1\n5432\n{folder / 'run'}\n\n1 1\nready   \n"
    )
    (folder / "run" / ".s.PGSQL.5432.lock").write_text(f"{pid}\n{folder / 'pgdata'}\n1\n5432\n{folder / 'run'}\n")


def assert_answers(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_pid_file_of_a_dead_process_is_ignored(stopped: Cluster) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    leave_pid_file(stopped, gone.pid)

    assert stopped.status().state is State.STOPPED
    assert_answers(stopped.start())


def test_pid_file_that_names_another_living_program_is_ignored(
    stopped: Cluster, bystander: subprocess.Popen[bytes]
) -> None:
    leave_pid_file(stopped, bystander.pid)

    assert stopped.status().state is State.STOPPED
    assert_answers(stopped.start())
    assert bystander.poll() is None


def test_stop_never_signals_a_program_that_has_the_servers_old_pid(
    stopped: Cluster, bystander: subprocess.Popen[bytes]
) -> None:
    leave_pid_file(stopped, bystander.pid)

    assert stopped.stop() is False
    assert bystander.poll() is None


def test_pid_file_that_names_the_server_of_another_folder_is_ignored(
    stopped: Cluster, make_cluster: MakeCluster
) -> None:
    other = make_cluster()
    other.start()
    pid = other.status().pid
    assert pid is not None
    leave_pid_file(stopped, pid)

    assert stopped.status().state is State.STOPPED
    assert_answers(stopped.start())
    assert other.status().pid == pid


def test_killed_server_is_started_again_at_once_with_all_that_was_committed(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    dsn = cluster.start()
    idle = psycopg.connect(dsn)  # its backend outlives the server process for a moment
    with psycopg.connect(dsn) as connection:
        connection.execute("create table kept as select 42 as answer")
    pid = cluster.status().pid
    assert pid is not None

    os.kill(pid, signal.SIGKILL)
    dsn = cluster.start()

    idle.close()
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select answer from kept").fetchone() == (42,)


def test_immediate_stop_loses_nothing_that_was_committed(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    with psycopg.connect(cluster.start()) as connection:
        connection.execute("create table kept as select 42 as answer")

    cluster.stop("immediate")

    with psycopg.connect(cluster.start()) as connection:
        assert connection.execute("select answer from kept").fetchone() == (42,)


def test_half_made_data_folder_is_made_anew(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    half = cluster.data_dir / "pgdata.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")

    assert_answers(cluster.start())
    assert not half.exists()


def test_zombie_is_neither_alive_nor_a_server(tmp_path: Path) -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert not alive(child.pid)
    assert not serves(child.pid, tmp_path)

    child.wait()
