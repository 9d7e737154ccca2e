"""Start, find, stop: the life of an embedded server when nothing goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import psycopg
import pytest

from tenure.embedded import Cluster, NotRunning, State, default_cluster

MakeCluster = Callable[..., Cluster]

START_ELSEWHERE = """
import sys
from pathlib import Path
from tenure.embedded import Cluster
print(Cluster(Path(sys.argv[1]), fallbacks=[Path(sys.argv[2])]).start())
"""


def ask(dsn: str, query: str) -> object:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row[0] if row and len(row) == 1 else row


def start_elsewhere(cluster: Cluster) -> str:
    """Start the cluster from another Python process, which has ended when this returns."""
    command = [sys.executable, "-c", START_ELSEWHERE, str(cluster.data_dir), str(cluster.data_dir.parent / "lib")]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_started_cluster_answers_on_its_socket_and_keeps_what_it_acknowledges(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()

    dsn = cluster.start()

    assert ask(dsn, "select current_database()") == "tenure"
    settings = (
        "select current_setting('fsync'), current_setting('synchronous_commit'), current_setting('listen_addresses')"
    )
    assert ask(dsn, settings) == ("on", "on", "")
    assert ask(dsn, "select current_setting('max_connections')::int") == 200
    assert cluster.status().state is State.RUNNING
    assert cluster.dsn == dsn


def test_only_its_user_may_enter_the_folders_of_data_and_socket(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()

    cluster.start()

    for name in ("pgdata", "run"):
        assert (cluster.data_dir / name).stat().st_mode & 0o077 == 0


def test_second_start_changes_nothing(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    first = cluster.start()
    pid = cluster.status().pid

    second = cluster.start()

    assert second == first
    assert cluster.status().pid == pid


def test_stopped_cluster_keeps_its_data(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    with psycopg.connect(cluster.start()) as connection:
        connection.execute("create table kept as select 42 as answer")

    assert cluster.stop() is True
    assert cluster.status().state is State.STOPPED
    assert cluster.stop() is False

    assert ask(cluster.start(), "select answer from kept") == 42


def test_cluster_that_was_never_started_is_absent_and_has_no_dsn(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()

    assert cluster.status().state is State.ABSENT
    assert cluster.stop() is False
    with pytest.raises(NotRunning) as caught:
        _ = cluster.dsn
    assert caught.value.code == "embedded_not_running"
    assert not cluster.data_dir.exists()


def test_server_survives_the_process_that_started_it(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()

    dsn = start_elsewhere(cluster)

    assert ask(dsn, "select 1") == 1
    assert cluster.dsn == dsn


def test_server_is_nobodys_child_and_holds_none_of_our_files(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)

    cluster.start()

    pid = cluster.status().pid
    assert pid not in {child.pid for child in psutil.Process().children(recursive=True)}
    assert os.getsid(pid) != os.getsid(0)
    os.close(writer)
    assert os.read(reader, 1) == b""  # end of file: nobody else holds the writing end
    os.close(reader)


def test_five_processes_that_start_at_once_share_one_server(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()

    with ThreadPoolExecutor(5) as pool:
        dsns = list(pool.map(lambda _: start_elsewhere(cluster), range(5)))

    assert len(set(dsns)) == 1
    log = cluster.status().log.read_text()
    assert log.count("starting PostgreSQL") == 1
    assert ask(dsns[0], "select 1") == 1


def test_environment_of_the_caller_does_not_steer_the_server(
    make_cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGDATA", "/nowhere")
    monkeypatch.setenv("PGPORT", "1")
    cluster = make_cluster()

    dsn = cluster.start()

    assert ask(dsn, "select current_setting('port')") == "5432"


def test_tcp_is_there_when_asked_for_and_its_dsn_holds_no_password(make_cluster: MakeCluster, free_port: int) -> None:
    cluster = make_cluster(listen="127.0.0.1", port=free_port)

    dsn = cluster.start()

    assert ask(dsn, "select inet_server_port()") == free_port
    assert "password" not in dsn
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(f"postgresql://tenure@127.0.0.1:{free_port}/tenure?passfile=/dev/null")


def test_statement_statistics_and_extensions_are_at_hand(make_cluster: MakeCluster) -> None:
    dsn = make_cluster().start()

    with psycopg.connect(dsn) as connection:
        for extension in ("pg_stat_statements", "pg_trgm", "vector"):
            connection.execute(f'create extension "{extension}"'.encode())
        row = connection.execute("select count(*) >= 0 from pg_stat_statements").fetchone()

    assert row == (True,)


def test_default_cluster_is_in_dot_tenure_unless_tenure_home_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TENURE_HOME", raising=False)
    assert default_cluster().data_dir == tmp_path / ".tenure"

    monkeypatch.setenv("TENURE_HOME", str(tmp_path / "elsewhere"))
    assert default_cluster().data_dir == tmp_path / "elsewhere"
