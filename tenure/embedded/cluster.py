"""One embedded server: start it, find it, stop it (design 06, Embedded default)."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from tenure.embedded import dsn, pidfile, server, site, tcp
from tenure.embedded.account import Account, account_for
from tenure.embedded.binaries import Installation, installed, reachable
from tenure.embedded.diagnosis import out_of_space, permission_denied
from tenure.embedded.errors import EmbeddedError, NotADataFolder, NotRunning, RunningWithoutTcp, VersionMismatch
from tenure.embedded.initialise import SUPERUSER, initialise
from tenure.embedded.lock import exclusive
from tenure.embedded.pidfile import PidFile
from tenure.embedded.site import Site
from tenure.embedded.status import State, Status

StopMode = Literal["fast", "immediate"]

_SIGNALS: dict[StopMode, signal.Signals] = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}
_STATES = {"starting": State.STARTING, "stopping": State.STOPPING}


class Cluster:
    """The PostgreSQL server whose files are in ``data_dir`` (``pgdata/``, ``run/``, ``postgres.log``).

    Any number of processes may hold a Cluster of the same folder; all see the same server. It listens on a Unix socket
    only, unless ``listen`` names an address (then on ``port`` there, with a password kept in a file).

    ``installation`` are the programs to run, the wheel's by default; ``fallbacks`` are the places where root puts data
    that the server's user could not reach in ``data_dir``.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int = 5432,
        listen: str = "",
        installation: Installation | None = None,
        fallbacks: Sequence[Path] = site.FALLBACKS,
    ) -> None:
        self.data_dir = Path(os.path.abspath(data_dir))  # noqa: PTH100 - keeps symbolic links, unlike resolve()
        self.port = port
        self.listen = listen
        self._installation = installation
        self._fallbacks = fallbacks

    def start(self, timeout: float = 60.0) -> str:
        """Make sure that the server runs, and return its DSN. A first start makes the data folder.

        Many processes may call this at once: one starts the server, all get the DSN. The server goes on when this
        process ends. ``timeout`` is in seconds. Raises a subclass of EmbeddedError, whose hint says what to do.
        """
        deadline = time.monotonic() + timeout
        try:
            account = account_for(self.data_dir)
            self._make_data_dir(account)
            with self._lock(account, timeout):
                place = site.settle(self.data_dir, account, self._fallbacks)
                running = self._living(place)
                if running is not None:
                    running = server.wait_answering(place, running, self._socket_dsn, deadline - time.monotonic())
                if running is None:
                    running = self._launch(place, account, deadline - time.monotonic())
                if self.listen:
                    tcp.ensure_password(place.root, self._socket_dsn(running), SUPERUSER, account)
                return self._dsn_of(place, running)
        except OSError as error:
            raise out_of_space(error, self.data_dir) from error

    def stop(self, mode: StopMode = "fast", timeout: float = 60.0) -> bool:
        """Stop the server and wait until it is gone, up to ``timeout`` seconds; False when none was running.

        ``fast`` ends open transactions and writes a checkpoint; ``immediate`` ends at once and recovers on the next
        start. Raises StopTimeout, PermissionDenied.
        """
        try:
            if site.find(self.data_dir) is None:
                return False
            with self._lock(account_for(self.data_dir), timeout):
                place = self._place()
                running = self._living(place)
                if running is None:
                    return False
                server.stop(place, running, _SIGNALS[mode], timeout)
                return True
        except OSError as error:
            raise out_of_space(error, self.data_dir) from error

    def status(self) -> Status:
        """What the server does now; changes nothing. Raises PermissionDenied when the folder is closed to us."""
        try:
            place = self._place()
            if not place.pgdata.exists():
                return Status(State.ABSENT, place.pgdata, place.log, note=place.note)
            running = self._living(place)
            major = _major_of(place.pgdata)
            if running is None:
                return Status(State.STOPPED, place.pgdata, place.log, major=major, note=place.note)
            state = State.RUNNING if running.ready else _STATES.get(running.status, State.STARTING)
            shown = self._socket_dsn(running) if state is State.RUNNING else None
            return Status(state, place.pgdata, place.log, running.pid, shown, major, place.note)
        except OSError as error:
            raise out_of_space(error, self.data_dir) from error

    @property
    def dsn(self) -> str:
        """The DSN of the running server: over TCP if this Cluster was made with ``listen``, else over the socket.

        Raises NotRunning, and RunningWithoutTcp when the server was started without TCP.
        """
        place = self._place()
        running = self._living(place)
        if running is None or not running.ready:
            raise NotRunning(f"The embedded PostgreSQL in {self.data_dir} is not running.", "Start it: tenure up.")
        return self._dsn_of(place, running)

    @property
    def installation(self) -> Installation:
        """The PostgreSQL programs that belong to this server, such as ``psql``. Raises BinariesMissing."""
        if self._installation is None:
            self._installation = installed()
        return self._installation

    def _make_data_dir(self, account: Account) -> None:
        try:
            self.data_dir.mkdir(mode=0o700)
        except FileExistsError:
            if not self.data_dir.is_dir():
                raise NotADataFolder(
                    f"{self.data_dir} is not a folder.", "Move it away, or set TENURE_HOME to a folder of your own."
                ) from None
        except FileNotFoundError:
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            account.own(self.data_dir)
        else:
            account.own(self.data_dir)

    def _lock(self, account: Account, timeout: float) -> AbstractContextManager[None]:
        return exclusive(self.data_dir / "lock", account, timeout)

    def _place(self) -> Site:
        return site.find(self.data_dir) or Site(self.data_dir)

    def _living(self, place: Site) -> PidFile | None:
        found = pidfile.read(place.pgdata)
        return found if found is not None and pidfile.serves(found.pid, place.pgdata) else None

    def _launch(self, place: Site, account: Account, timeout: float) -> PidFile:
        programs = reachable(self.installation, account, self._fallbacks, place.root)
        if not place.pgdata.exists():
            initialise(place.pgdata, programs, account)
        _check(place.pgdata, programs, account)
        return server.launch(place, programs, account, port=self.port, listen=self.listen, timeout=timeout)

    def _socket_dsn(self, running: PidFile) -> str:
        return dsn.over_socket(running.socket_dir, running.port or self.port)

    def _dsn_of(self, place: Site, running: PidFile) -> str:
        if not self.listen:
            return self._socket_dsn(running)
        if not running.listen or running.port != self.port:
            raise RunningWithoutTcp(
                f"The embedded PostgreSQL in {self.data_dir} already runs without TCP on port {self.port}.",
                "Stop it first (tenure down), then start it with TCP.",
            )
        return dsn.over_tcp(self.listen, self.port, tcp.passfile(place.root))


def default_cluster() -> Cluster:
    """The Cluster in ``.tenure/`` of the current folder, or in ``TENURE_HOME`` where that is set."""
    return Cluster(Path(os.environ.get("TENURE_HOME") or ".tenure"))


def _major_of(pgdata: Path) -> int | None:
    try:
        return int((pgdata / "PG_VERSION").read_text().strip())
    except (FileNotFoundError, ValueError):
        return None


def _check(pgdata: Path, programs: Installation, account: Account) -> None:
    """Refuse a data folder that these programs or this account cannot serve, before PostgreSQL does in its words."""
    major = _major_of(pgdata)
    if major is None:
        raise NotADataFolder(
            f"{pgdata} exists but is not a PostgreSQL data folder (it has no PG_VERSION).",
            "Move it away, or set TENURE_HOME to another folder.",
        )
    if major != programs.major:
        raise VersionMismatch(
            f"The data in {pgdata} was made by PostgreSQL {major}, but this is PostgreSQL {programs.major}.",
            f"Export it with PostgreSQL {major}'s pg_dump and import it into a new folder, or move it away.",
        )
    owner = pgdata.stat().st_uid
    if owner != account.uid:
        raise permission_denied(
            pgdata, f"it belongs to user number {owner}, and the server would run as {account.name}"
        )


__all__ = ["Cluster", "EmbeddedError", "StopMode", "default_cluster"]
