"""Each thing that can go wrong has its own code, and a hint that says what to do."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tenure.embedded import (
    BinariesMissing,
    Cluster,
    NoSpace,
    NotADataFolder,
    PermissionDenied,
    PortInUse,
    RunningWithoutTcp,
    State,
    VersionMismatch,
)
from tenure.embedded.binaries import Installation

MakeCluster = Callable[..., Cluster]


@pytest.fixture
def tiny_disk(short_folder: Path, root: None) -> Iterator[Callable[[int], Path]]:
    """Mounts file systems of so many megabytes. Ask for it before ``make_cluster``, to be unmounted after that."""
    mounted: list[Path] = []

    def mount(megabytes: int) -> Path:
        folder = short_folder / f"disk{len(mounted)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            pytest.skip("this root may not mount")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


def test_data_of_another_major_version_is_refused_and_left_alone(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.start()
    cluster.stop()
    version = cluster.data_dir / "pgdata" / "PG_VERSION"
    version.write_text("16\n")

    with pytest.raises(VersionMismatch) as caught:
        cluster.start()

    assert caught.value.code == "embedded_version_mismatch"
    assert "PostgreSQL 16" in caught.value.message
    assert "pg_dump" in caught.value.hint
    assert version.read_text() == "16\n"


def test_folder_that_holds_something_else_is_refused_and_left_alone(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    precious = cluster.data_dir / "pgdata" / "thesis.txt"
    precious.parent.mkdir(parents=True)
    precious.write_text("years of work")

    with pytest.raises(NotADataFolder) as caught:
        cluster.start()

    assert caught.value.code == "embedded_not_a_data_folder"
    assert precious.read_text() == "years of work"


def test_file_in_the_place_of_the_folder_is_refused(make_cluster: MakeCluster, short_folder: Path) -> None:
    place = short_folder / "file"
    place.write_text("")

    with pytest.raises(NotADataFolder):
        Cluster(place).start()


def test_port_that_another_program_uses_is_named_as_the_reason(make_cluster: MakeCluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        cluster = make_cluster(listen="127.0.0.1", port=other.getsockname()[1])

        with pytest.raises(PortInUse) as caught:
            cluster.start()

    assert caught.value.code == "embedded_port_in_use"
    assert cluster.status().state is State.STOPPED


def test_tcp_cannot_be_added_to_a_running_server(make_cluster: MakeCluster, free_port: int) -> None:
    cluster = make_cluster()
    cluster.start()

    with pytest.raises(RunningWithoutTcp) as caught:
        Cluster(cluster.data_dir, listen="127.0.0.1", port=free_port).start()

    assert caught.value.code == "embedded_running_without_tcp"


def test_path_too_long_for_a_socket_gets_a_short_socket_folder(make_cluster: MakeCluster, short_folder: Path) -> None:
    cluster = make_cluster(short_folder / ("long" * 40))

    dsn = cluster.start()

    with psycopg.connect(dsn) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    host = Path(psycopg.conninfo.conninfo_to_dict(dsn)["host"])
    assert cluster.dsn == dsn
    assert host.stat().st_mode & 0o077 == 0
    cluster.stop()
    assert not host.exists()


def test_missing_binaries_are_named(make_cluster: MakeCluster, tmp_path: Path) -> None:
    cluster = make_cluster(installation=Installation(tmp_path))

    with pytest.raises(BinariesMissing) as caught:
        cluster.start()

    assert caught.value.code == "embedded_binaries_missing"
    assert "pip install" in caught.value.hint
    assert cluster.status().state is State.ABSENT


@pytest.mark.root
def test_first_start_on_a_disk_that_is_too_small_says_so_and_leaves_nothing(
    tiny_disk: Callable[[int], Path], make_cluster: MakeCluster
) -> None:
    cluster = make_cluster(tiny_disk(20) / "t")

    with pytest.raises(NoSpace) as caught:
        cluster.start()

    assert caught.value.code == "embedded_no_space"
    assert cluster.status().state is State.ABSENT
    assert not (cluster.data_dir / "pgdata.new").exists()


@pytest.mark.root
def test_programs_that_do_not_fit_beside_the_data_are_reported_as_no_space(
    tiny_disk: Callable[[int], Path], closed_programs: Installation
) -> None:
    cluster = Cluster(tiny_disk(20) / "t", installation=closed_programs, fallbacks=[])

    with pytest.raises(NoSpace):
        cluster.start()

    assert [path.name for path in cluster.data_dir.iterdir()] == ["lock"]


@pytest.mark.root
def test_start_on_a_disk_that_became_full_says_so_and_works_once_there_is_space(
    tiny_disk: Callable[[int], Path], make_cluster: MakeCluster
) -> None:
    disk = tiny_disk(120)
    cluster = make_cluster(disk / "t")
    cluster.start()
    cluster.stop()
    filler = disk / "filler"
    with filler.open("wb") as file:
        file.truncate(0)
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free)

    with pytest.raises(NoSpace):
        cluster.start()

    filler.unlink()
    with psycopg.connect(cluster.start()) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.root
def test_folder_of_another_user_is_refused(
    root: None, make_cluster: MakeCluster, as_ordinary_user: Callable[[Callable[[], Any]], Any]
) -> None:
    cluster = make_cluster()
    cluster.start()
    if cluster.data_dir.owner() == "nobody":
        pytest.skip("the server itself runs as nobody here")

    for action in (cluster.start, cluster.status, cluster.stop):
        with pytest.raises(PermissionDenied) as caught:
            as_ordinary_user(action)
        assert "TENURE_HOME" in caught.value.hint
