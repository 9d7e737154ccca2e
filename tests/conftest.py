"""One PostgreSQL for the whole run, and a database of its own for each test that asks for one.

It is the embedded one. So that other versions can be tried, it is one of the installation in ``TENURE_TEST_POSTGRES``
(such as ``/usr/lib/postgresql/15``), or that of ``TENURE_TEST_DSN`` (a superuser's).
"""

from __future__ import annotations

import fcntl
import itertools
import logging
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from tenure.embedded import Cluster
from tenure.embedded.account import account_for
from tenure.embedded.dsn import over_socket, with_database
from tenure.store.postgres.migrate import migrate
from tests import other_postgres, sharing
from tests.databases import fresh_database
from tests.figures import Figures, tell  # noqa: F401 - a fixture

_numbers = itertools.count(1)
_MEMORY = Path("/dev/shm")  # noqa: S108
_MARK = "in-use"


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Figures())
    config.pluginmanager.register(sharing)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """What a command sets up for its process is undone: other tests listen to the same loggers."""
    loggers = [logging.getLogger(name) for name in ("tenure", "tenure.action")]
    before = [(logger.level, logger.propagate, logger.handlers[:]) for logger in loggers]
    yield
    for logger, (level, propagate, handlers) in zip(loggers, before, strict=True):
        logger.setLevel(level)
        logger.propagate = propagate
        logger.handlers[:] = handlers


@pytest.fixture(autouse=True, scope="session")
def passwords_hashed_cheaply() -> Iterator[None]:
    """Passwords of tests are worth no protection. ``tests/sdk/test_passwords.py`` looks at what real ones get."""
    from argon2 import profiles

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiles, "RFC_9106_LOW_MEMORY", profiles.CHEAPEST)
        yield


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    """A folder with a short path, so that sockets fit, which the server's user may traverse."""
    folder = Path(tempfile.mkdtemp(prefix="tnr-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def quick_folder(short_folder: Path) -> Iterator[Path]:
    """A folder in memory where there is plenty of it, else ``short_folder``: hundreds of databases are copied and dropped."""
    if not _plenty_of_memory():
        yield short_folder
        return
    _let_go_of_what_killed_runs_left()
    folder = Path(tempfile.mkdtemp(prefix="tnr-", dir=_MEMORY))
    folder.chmod(0o755)
    with (folder / _MARK).open("w") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)  # as long as this process lives
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


def _plenty_of_memory() -> bool:
    if not os.access(_MEMORY, os.W_OK):
        return False
    return min(shutil.disk_usage(_MEMORY).free, psutil.virtual_memory().available) > 8 * 2**30


def _let_go_of_what_killed_runs_left() -> None:
    for found in _MEMORY.glob(f"tnr-*/{_MARK}"):
        try:
            with found.open("r+") as mark:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                Cluster(found.parent / "shared").stop("immediate")
                shutil.rmtree(found.parent, ignore_errors=True)
        except OSError:
            continue  # somebody is at work in it, or has just let go of it


@pytest.fixture(scope="session")
def pg_cluster(short_folder: Path, quick_folder: Path) -> Iterator[Cluster]:
    """The running server that all tests share. Tests that stop or harm a server make their own: ``make_cluster``."""
    cluster = Cluster(quick_folder / "shared", fallbacks=[short_folder / "lib"])
    _make_light(cluster.start())
    yield cluster
    cluster.stop("immediate")


def _make_light(dsn: str) -> None:
    """Nobody needs this data after a power cut; databases are made and dropped by the hundred, and hold little."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for setting in ("fsync", "full_page_writes", "autovacuum", "jit"):
            connection.execute(sql.SQL("alter system set {} = off").format(sql.Identifier(setting)))
        connection.execute("select pg_reload_conf()")


@pytest.fixture(scope="session")
def pg_server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The DSN of a superuser on the shared server."""
    if given := os.environ.get("TENURE_TEST_DSN"):
        yield given
    elif programs := os.environ.get("TENURE_TEST_POSTGRES"):
        with other_postgres.started(Path(programs), request.getfixturevalue("quick_folder") / "other") as dsn:
            _make_light(dsn)
            yield dsn
    else:
        yield str(request.getfixturevalue("pg_cluster").dsn)


def _embedded() -> bool:
    return not {"TENURE_TEST_DSN", "TENURE_TEST_POSTGRES"} & set(os.environ)


@pytest.fixture
def make_cluster(short_folder: Path) -> Iterator[Callable[..., Cluster]]:
    """Makes clusters for one test, each in a fresh folder (or the one given), and stops them after it."""
    made: list[Cluster] = []

    def make(data_dir: Path | None = None, **options: object) -> Cluster:
        options.setdefault("fallbacks", [short_folder / "lib"])
        cluster = Cluster(data_dir or short_folder / f"c{next(_numbers)}", **options)  # type: ignore[arg-type]
        made.append(cluster)
        return cluster

    yield make
    for cluster in made:
        cluster.stop("immediate")
        shutil.rmtree(cluster.status().pgdata.parent, ignore_errors=True)
        shutil.rmtree(cluster.data_dir, ignore_errors=True)


@pytest.fixture(scope="session")
def admin(pg_server: str) -> Iterator[psycopg.Connection]:
    """A superuser's connection in autocommit, for making and dropping databases and roles."""
    with psycopg.connect(pg_server, autocommit=True) as connection:
        yield connection


@pytest.fixture
def database(admin: psycopg.Connection, pg_server: str) -> Iterator[str]:
    """The DSN of a fresh empty database, dropped after the test."""
    yield from fresh_database(admin, pg_server, "template0")


@pytest.fixture(scope="session")
def migrated_template(admin: psycopg.Connection, pg_server: str) -> Iterator[str]:
    """The name of a database that is migrated once and then only copied."""
    name = f"template{os.getpid()}"
    admin.execute(sql.SQL("create database {} template template0").format(sql.Identifier(name)))
    migrate(with_database(pg_server, name))
    yield name
    admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture
def migrated_database(admin: psycopg.Connection, pg_server: str, migrated_template: str) -> Iterator[str]:
    """The DSN of a fresh database with the whole schema, dropped after the test."""
    yield from fresh_database(admin, pg_server, migrated_template)


@pytest.fixture(scope="session")
def psql(request: pytest.FixtureRequest) -> Callable[[str, str], str]:
    """Runs a script with the psql that belongs to the server: ``psql(dsn, script)`` gives what it printed."""
    if not _embedded():
        program = shutil.which("psql") or pytest.skip("psql is not installed")
    else:
        program = request.getfixturevalue("pg_cluster").installation.program("psql")

    def run(dsn: str, script: str) -> str:
        command = [program, "--no-psqlrc", "--quiet", dsn]
        return subprocess.run(command, input=script, capture_output=True, text=True, check=True, timeout=60).stdout

    return run


@pytest.fixture(scope="session")
def pooled(request: pytest.FixtureRequest, short_folder: Path) -> Iterator[Callable[[str], str]]:
    """Turns a DSN of the shared server into one that goes through PgBouncer in transaction mode."""
    if not _embedded():
        pytest.skip("PgBouncer is put before the embedded server only")
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed (Debian: apt-get install pgbouncer)")
    pg_cluster: Cluster = request.getfixturevalue("pg_cluster")
    server = conninfo_to_dict(pg_cluster.dsn)
    account = account_for(pg_cluster.data_dir)
    folder = short_folder / "pgbouncer"
    folder.mkdir(mode=0o700)
    account.own(folder)
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n* = host={server['host']} port={server['port']} user={server['user']}\n"
        f"[pgbouncer]\nunix_socket_dir = {folder}\nlisten_port = 6432\nauth_type = any\npool_mode = transaction\n"
        "default_pool_size = 4\nmax_client_conn = 200\nlog_connections = 0\nlog_disconnections = 0\n"
    )
    account.own(settings)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, "--quiet", settings],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            user=account.uid if account.switch else None,
            group=account.gid if account.switch else None,
        )
    try:
        deadline = time.monotonic() + 10
        while not _listening(folder / ".s.PGSQL.6432"):
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.01)
        yield lambda dsn: with_database(over_socket(str(folder), 6432), str(conninfo_to_dict(dsn)["dbname"]))
    finally:
        process.terminate()
        process.wait(10)


def _listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as trial:
        return trial.connect_ex(str(path)) == 0
