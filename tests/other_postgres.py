"""A PostgreSQL of another version than the embedded one, for one process of the tests: ``TENURE_TEST_POSTGRES``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tenure.embedded.account import account_for, run_as
from tenure.embedded.binaries import Installation
from tenure.embedded.dsn import over_socket, with_database


@contextmanager
def started(programs: Path, folder: Path) -> Iterator[str]:
    """The DSN of a superuser on a fresh server of the installation in ``programs``, such as ``/usr/lib/postgresql/15``."""
    installation, account = Installation(programs), account_for(folder)
    folder.mkdir(mode=0o755)
    account.own(folder)
    data = folder / "pgdata"

    def run(program: str, *arguments: str) -> None:
        command = [str(installation.program(program)), f"--pgdata={data}", *arguments]
        done = run_as(account, command, cwd=str(folder))
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"

    # Before 17 there is no built-in locale: text sorts by the byte in this one, too.
    run("initdb", "--username=tenure", "--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust", "--no-sync")
    settings = {"unix_socket_directories": f"'{folder}'", "listen_addresses": "''", "max_connections": "200"}
    with (data / "postgresql.conf").open("a") as file:
        file.writelines(f"{name} = {value}\n" for name, value in settings.items())
    run("pg_ctl", f"--log={folder / 'log'}", "--wait", "start")
    try:
        yield with_database(over_socket(str(folder), 5432), "postgres")
    finally:
        run("pg_ctl", "--mode=immediate", "stop")
