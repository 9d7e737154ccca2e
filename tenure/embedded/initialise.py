"""Makes a data folder: whole, on disk and under its final name, or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tenure.embedded.account import Account, run_as
from tenure.embedded.binaries import Installation
from tenure.embedded.diagnosis import out_of_space, raise_for_output
from tenure.embedded.errors import StartFailed
from tenure.embedded.settings import initial_settings

SUPERUSER = "tenure"
DATABASE = "tenure"


def initialise(pgdata: Path, installation: Installation, account: Account) -> None:
    """Create ``pgdata`` with the role and the database ``tenure``. Raises NoSpace, PermissionDenied, StartFailed.

    Everything is made under a temporary name and renamed at the end, so that a crash half-way leaves nothing that looks
    like data. ``initdb`` syncs what it wrote.
    """
    partial = pgdata.with_name(f"{pgdata.name}.new")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700)
    try:
        account.own(partial)
        _initdb(partial, installation, account)
        _create_database(partial, installation, account)
        partial.rename(pgdata)
        _sync(pgdata.parent)
    except OSError as error:
        raise out_of_space(error, pgdata) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _initdb(pgdata: Path, installation: Installation, account: Account) -> None:
    # The builtin locale sorts by code point on every system, so that an operating system's upgrade corrupts no index.
    command = [
        str(installation.program("initdb")),
        f"--pgdata={pgdata}",
        f"--username={SUPERUSER}",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--auth-local=trust",  # the socket's folder is closed to other users
        "--auth-host=scram-sha-256",
        "--no-instructions",
        *(f"--set={name}={value}" for name, value in initial_settings().items()),
    ]
    result = run_as(account, command, cwd=str(pgdata))
    if result.returncode != 0:
        output = f"{result.stdout}\n{result.stderr}"
        raise_for_output(output, pgdata)
        raise StartFailed(
            f"PostgreSQL's initdb could not make {pgdata}: {_last_line(output)}.",
            "Correct what it names, then try again; nothing was kept.",
        )


def _create_database(pgdata: Path, installation: Installation, account: Account) -> None:
    command = [str(installation.program("postgres")), "--single", "-D", str(pgdata), "-j", "postgres"]
    result = run_as(account, command, cwd=str(pgdata), text_in=f'create database "{DATABASE}"\n')
    output = f"{result.stdout}\n{result.stderr}"
    if result.returncode != 0 or "ERROR:" in output or "FATAL:" in output or "PANIC:" in output:
        raise_for_output(output, pgdata)
        raise StartFailed(f"The database {DATABASE} could not be made: {_last_line(output)}.", "Try again.")


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip() and "removing data" not in line]
    errors = [line for line in lines if "error:" in line or "FATAL" in line or "ERROR" in line]
    return (errors or lines or ["it gave no reason"])[-1].rstrip(".")


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
