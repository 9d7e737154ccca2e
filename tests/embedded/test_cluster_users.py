"""Root and ordinary users: whom the server runs as, and where its data goes."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tenure.embedded import Cluster, State
from tenure.embedded.account import Account, account_for
from tenure.embedded.binaries import Installation, installed, reachable

MakeCluster = Callable[..., Cluster]
AsUser = Callable[[Callable[[], Any]], Any]


def owner_of_process(pid: int | None) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


@pytest.fixture
def open_folder(short_folder: Path) -> Path:
    """A folder that everyone can enter and only its owner can write. It goes with ``short_folder``: clusters in it stop later."""
    folder = Path(tempfile.mkdtemp(prefix="o", dir=short_folder))
    folder.chmod(0o755)
    return folder


def test_ordinary_user_starts_uses_and_stops_a_server(short_folder: Path, as_ordinary_user: AsUser) -> None:
    home = short_folder / "ordinary"
    home.mkdir()
    nobody = pwd.getpwnam("nobody")
    programs = installed()
    if os.geteuid() == 0:
        os.chown(home, nobody.pw_uid, nobody.pw_gid)
        programs = reachable(
            programs,
            Account(nobody.pw_uid, nobody.pw_gid, "nobody", switch=True),
            shared=[short_folder / "lib"],
            own=short_folder,
        )
    cluster = Cluster(home / "t", installation=programs)

    def live() -> tuple[Any, State, State]:
        with psycopg.connect(cluster.start()) as connection:
            answer = connection.execute("select 42").fetchone()
        during = cluster.status().state
        cluster.stop()
        return answer, during, cluster.status().state

    assert as_ordinary_user(live) == ((42,), State.RUNNING, State.STOPPED)
    shutil.rmtree(home)


@pytest.mark.root
def test_roots_server_runs_as_an_unprivileged_user(root: None, make_cluster: MakeCluster) -> None:
    cluster = make_cluster()

    cluster.start()

    assert owner_of_process(cluster.status().pid) == account_for(cluster.data_dir).uid != 0


@pytest.mark.root
def test_roots_server_in_an_ordinary_users_folder_runs_as_that_user(
    root: None, make_cluster: MakeCluster, open_folder: Path
) -> None:
    nobody = pwd.getpwnam("nobody")
    os.chown(open_folder, nobody.pw_uid, nobody.pw_gid)
    cluster = make_cluster(open_folder / ".tenure")

    cluster.start()

    assert owner_of_process(cluster.status().pid) == nobody.pw_uid
    assert {path.stat().st_uid for path in cluster.data_dir.iterdir()} == {nobody.pw_uid}


@pytest.mark.root
def test_data_goes_elsewhere_when_the_servers_user_cannot_reach_the_folder(
    make_cluster: MakeCluster, closed_folder: Path, open_folder: Path
) -> None:
    cluster = make_cluster(closed_folder / ".tenure", fallbacks=[open_folder / "lib"])

    with psycopg.connect(cluster.start()) as connection:
        connection.execute("create table kept as select 42 as answer")

    status = cluster.status()
    assert open_folder in status.pgdata.parents
    assert str(status.pgdata.parent) in status.note
    assert closed_folder.stat().st_mode & 0o777 == 0o700
    cluster.stop()
    with psycopg.connect(cluster.start()) as connection:
        assert connection.execute("select answer from kept").fetchone() == (42,)


@pytest.mark.root
def test_moved_project_keeps_its_data_and_a_copied_one_gets_its_own(
    make_cluster: MakeCluster, closed_folder: Path, open_folder: Path
) -> None:
    first = make_cluster(closed_folder / "a" / ".tenure", fallbacks=[open_folder])
    first.start()
    first.stop()
    place = first.status().pgdata

    shutil.copytree(closed_folder / "a", closed_folder / "copy")
    copied = make_cluster(closed_folder / "copy" / ".tenure", fallbacks=[open_folder])
    copied.start()
    assert copied.status().pgdata != place

    (closed_folder / "a").rename(closed_folder / "b")
    moved = make_cluster(closed_folder / "b" / ".tenure", fallbacks=[open_folder])
    assert moved.status().pgdata == place


@pytest.mark.root
def test_programs_out_of_reach_are_copied_to_where_the_server_can_run_them(
    make_cluster: MakeCluster, closed_programs: Installation
) -> None:
    cluster = make_cluster(installation=closed_programs)

    with psycopg.connect(cluster.start()) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert closed_programs.root.parents[1].stat().st_mode & 0o777 == 0o700


@pytest.mark.root
def test_folder_that_root_made_before_is_used_as_it_is(
    root: None, make_cluster: MakeCluster, open_folder: Path
) -> None:
    home = open_folder / ".tenure"
    home.mkdir(mode=0o755)
    cluster = make_cluster(home)

    cluster.start()

    assert cluster.status().pgdata == home / "pgdata"
    assert home.stat().st_mode & 0o777 == 0o755
    assert home.stat().st_uid == 0
