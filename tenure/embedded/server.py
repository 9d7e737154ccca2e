"""Runs the server process: launches it detached from us, waits until it is ready, tells it to stop."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from psycopg.pq import PGconn, Ping

from tenure.embedded import pidfile, sockets
from tenure.embedded.account import Account, cannot_switch, clean_environment
from tenure.embedded.binaries import Installation
from tenure.embedded.diagnosis import raise_for_output
from tenure.embedded.errors import StartFailed, StartTimeout, StopTimeout
from tenure.embedded.pidfile import PidFile
from tenure.embedded.settings import start_settings
from tenure.embedded.site import Site

# The shell puts the server in the background and ends, so that the server is nobody's child: it leaves no zombie in a
# program that started it, and that program's end does not touch it.
_DETACH = 'log=$1; shift; "$@" </dev/null >>"$log" 2>&1 & echo $!'
_POLL = 0.01
# After the server process was killed, its backends need a moment to notice; until then a new server refuses to start.
_OLD_BACKENDS = "is still in use"


def launch(
    site: Site, installation: Installation, account: Account, *, port: int, listen: str, timeout: float
) -> PidFile:
    """Start the server of ``site`` and wait up to ``timeout`` seconds until it is ready.

    The caller holds the lock and knows that no server runs. Raises PortInUse, NoSpace, PermissionDenied,
    SocketPathTooLong, StartFailed, StartTimeout.
    """
    deadline = time.monotonic() + timeout
    _clear_leftovers(site)
    socket_dir = sockets.prepare(site.run, account)
    sockets.forget_stale(socket_dir, port)
    _prepare_log(site.log, account)
    command = [str(installation.program("postgres")), "-D", str(site.pgdata)]
    for name, value in start_settings(socket_dir, port, listen).items():
        command += ["-c", f"{name}={value}"]
    try:
        while True:
            seen = _size(site.log)
            pid = _spawn(command, site, account)
            found = _wait_ready(pid, site, deadline, timeout)
            if found is not None:
                return found
            said = _log_from(site.log, seen)
            if _OLD_BACKENDS in said and time.monotonic() < deadline:
                time.sleep(0.1)
                continue
            raise_for_output(said, site.pgdata)
            raise StartFailed(
                f"The embedded PostgreSQL in {site.pgdata} ended while starting: {_reason(said)}.",
                f"The whole story is at the end of {site.log}.",
            )
    except StartTimeout:
        raise
    except BaseException:
        sockets.discard(str(socket_dir))
        raise


def stop(site: Site, running: PidFile, signal_number: signal.Signals, timeout: float) -> None:
    """Send the signal and wait up to ``timeout`` seconds until the process is gone. Raises StopTimeout, OSError."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(running.pid, signal_number)
    deadline = time.monotonic() + timeout
    while pidfile.serves(running.pid, site.pgdata):
        if time.monotonic() > deadline:
            raise StopTimeout(
                f"The embedded PostgreSQL (process {running.pid}) has not stopped within {timeout:.0f} s.",
                f"Stop it at once with 'tenure down --immediate' (nothing committed is lost), or look at {site.log}.",
            )
        time.sleep(_POLL)
    sockets.discard(running.socket_dir)


def wait_answering(site: Site, running: PidFile, dsn_of: Callable[[PidFile], str], timeout: float) -> PidFile | None:
    """Wait for a server that was there already; None when it ended meanwhile. Raises StartTimeout.

    A server that was killed a moment ago still looks alive, so it is asked and not only looked at.
    """
    deadline = time.monotonic() + timeout
    while True:
        found = _wait_ready(running.pid, site, deadline, timeout)
        if found is None or PGconn.ping(dsn_of(found).encode()) == Ping.OK:
            return found
        if time.monotonic() > deadline:
            raise _not_ready(site, timeout)
        time.sleep(_POLL)


def _clear_leftovers(site: Site) -> None:
    """Remove what a server that is gone left behind; PostgreSQL trips over its pid if another program has it now."""
    stale = pidfile.read(site.pgdata)
    if stale is not None:
        sockets.discard(stale.socket_dir)
    (site.pgdata / "postmaster.pid").unlink(missing_ok=True)


def _prepare_log(path: Path, account: Account) -> None:
    """Make the log ours to append to, also where the folder itself is not the account's."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if account.switch:
            os.fchown(descriptor, account.uid, account.gid)
    finally:
        os.close(descriptor)


def _spawn(command: Sequence[str], site: Site, account: Account) -> int:
    try:
        shell = subprocess.run(
            ["/bin/sh", "-c", _DETACH, "sh", str(site.log), *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            cwd=site.pgdata,
            env=dict(clean_environment()),
            close_fds=True,
            start_new_session=True,
            umask=0o077,
            user=account.uid if account.switch else None,
            group=account.gid if account.switch else None,
            extra_groups=[] if account.switch else None,
        )
    except subprocess.SubprocessError as error:
        raise cannot_switch(account) from error
    answer = shell.stdout.strip()
    if not answer.isdigit():
        raise_for_output(shell.stderr.decode(errors="replace"), site.pgdata)
        raise StartFailed(
            f"The embedded PostgreSQL could not be launched: {shell.stderr.decode(errors='replace').strip()}.",
            "Try again.",
        )
    return int(answer)


def _wait_ready(pid: int, site: Site, deadline: float, timeout: float) -> PidFile | None:
    while True:
        if not pidfile.alive(pid):
            return None
        found = pidfile.read(site.pgdata)
        if found is not None and found.pid == pid and found.ready:
            return found
        if time.monotonic() > deadline:
            raise _not_ready(site, timeout)
        time.sleep(_POLL)


def _not_ready(site: Site, timeout: float) -> StartTimeout:
    return StartTimeout(
        f"The embedded PostgreSQL in {site.pgdata} is not ready after {timeout:.0f} s.",
        f"It may be recovering from a crash: see the end of {site.log}, wait, then try again.",
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _log_from(path: Path, position: int) -> str:
    try:
        with path.open("rb") as file:
            file.seek(position)
            return file.read(256 * 1024).decode(errors="replace")
    except OSError:
        return ""


def _reason(said: str) -> str:
    lines = [line for line in said.splitlines() if "FATAL:" in line or "PANIC:" in line] or said.splitlines()
    if not lines:
        return "it gave no reason"
    return lines[0].partition("FATAL:")[2].strip() or lines[0].strip()
