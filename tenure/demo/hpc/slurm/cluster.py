"""Starts and stops a Slurm of our own."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tenure.demo.hpc.slurm import site as sites
from tenure.demo.hpc.slurm.daemons import Daemon, until
from tenure.demo.hpc.slurm.ports import free_ports
from tenure.demo.hpc.slurm.programs import program
from tenure.demo.hpc.slurm.site import NODES, Site
from tenure.demo.hpc.slurm.troubles import SlurmTrouble

_COMMAND_SECONDS = 30.0
_START_SECONDS = 90.0
_TRIES = 3
_CGROUPS = Path("/sys/fs/cgroup")


class SlurmCluster:
    """One controller and three nodes on this host, with all their files in ``folder``.

    ``environment`` makes the client programs use it. ``min_job_age`` is for how many seconds ``squeue`` remembers what has
    ended; ``hooks`` are programs that Slurm runs where jobs begin and end. Start it in the main thread.
    """

    def __init__(self, folder: Path, *, min_job_age: int = 300, hooks: Mapping[str, Path] | None = None) -> None:
        self.folder = folder.absolute()
        self._min_job_age = min_job_age
        self._hooks = dict(hooks or {})
        self._site: Site | None = None
        self._munged: Daemon | None = None
        self.controller: Daemon | None = None
        self.nodes: dict[str, Daemon] = {}

    @property
    def site(self) -> Site:
        """What it was started with. Raises SlurmTrouble before that."""
        if self._site is None:
            raise SlurmTrouble("This Slurm was not started.", "Call start(), or use it in a with statement.")
        return self._site

    @property
    def environment(self) -> dict[str, str]:
        """What the client programs need in their environment."""
        return {"SLURM_CONF": str(self.site.conf)}

    @property
    def limits_memory(self) -> bool:
        """Whether a job that uses more memory than it asked for is ended (this takes control groups)."""
        return self.site.cgroups

    def run(self, *command: str, check: bool = True) -> str:
        """Run one of Slurm's client programs and return what it printed. Raises SlurmTrouble where it fails."""
        done = subprocess.run(
            [program(command[0]), *command[1:]], env=os.environ | self.environment | {"LC_ALL": "C"}, capture_output=True,
            text=True, timeout=_COMMAND_SECONDS, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if check and done.returncode != 0:
            raise SlurmTrouble(f"{' '.join(command)}: {done.stderr.strip()}", "See the logs beside slurm.conf.")
        return done.stdout

    def start(self) -> Self:
        """Start it and wait until all nodes take jobs. Raises SlurmMissing, SlurmTrouble."""
        for attempt in range(_TRIES):
            for each in ("", "munge", "state", "log"):
                (self.folder / each).mkdir(mode=0o755, parents=True, exist_ok=True)
            try:
                self._start()
            except SlurmTrouble:
                # Between looking for a free port and taking it, somebody else may have taken it.
                self.stop()
                if attempt == _TRIES - 1:
                    raise
                # The next one has another name, under which the controller would not take this state.
                shutil.rmtree(self.folder / "state", ignore_errors=True)
            else:
                break
        return self

    def _start(self) -> None:
        ports = tuple(free_ports(1 + len(NODES)))
        site = Site(self.folder, f"t{ports[0]}", ports, sites.cgroups_usable(), self._min_job_age, self._hooks)
        self._site = site
        sites.write(site)
        key = self.folder / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(1024))
        munge = self.folder / "munge"
        self._munged = self._daemon(
            "munged", program("munged"), "--foreground", "--force", f"--key-file={key}", f"--socket={site.socket}",
            f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed",
        )  # fmt: skip
        self._munged.start()
        until("munge listens", site.socket.exists, [self._munged])
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        daemons = [self._munged, *filter(None, [self.controller]), *self.nodes.values()]
        until("all nodes are idle", lambda: self.states() == dict.fromkeys(NODES, "idle"), daemons, _START_SECONDS)

    def _daemon(self, name: str, *command: str) -> Daemon:
        return Daemon(name, command, self.folder / "log" / f"{name}.log", self.environment)

    def start_controller(self, *, forget: bool = False) -> None:
        """Start ``slurmctld``; with ``forget`` it begins without what it knew of jobs."""
        self.controller = self._daemon(
            "slurmctld", program("slurmctld"), "-D", "-f", str(self.site.conf), *(["-c"] if forget else [])
        )
        self.controller.start()
        until("the controller answers", self._answers, [self.controller], _START_SECONDS)

    def _answers(self) -> bool:
        return "UP" in self.run("scontrol", "ping", check=False)

    def start_node(self, node: str) -> None:
        """Start ``slurmd`` of a node: ``work``, ``spare`` or ``frail``."""
        daemon = self._daemon(
            f"slurmd-{node}", program("slurmd"), "-D", "-f", str(self.site.conf), "-N", self.site.node(node)
        )
        daemon.start()
        self.nodes[node] = daemon

    def states(self) -> dict[str, str]:
        """How the nodes are: ``idle``, ``mixed``, ``down``, ..."""
        lines = self.run("sinfo", "--noheader", "--Node", "--format=%N|%T", check=False).split()
        told = dict(line.split("|", 1) for line in lines)
        return {node: told[self.site.node(node)] for node in NODES if self.site.node(node) in told}

    def stop(self) -> None:
        """End all jobs, then all daemons; leave no process and no control group behind."""
        if self._site is None:
            return
        if self.controller is not None and self.controller.running():
            with suppress(SlurmTrouble, subprocess.TimeoutExpired):
                self.run("scancel", f"--user={os.geteuid()}", check=False)
                until("all jobs have ended", lambda: not self.run("squeue", "--noheader", "--format=%i"), [], 10)
        for daemon in [*self.nodes.values(), self.controller, self._munged]:
            if daemon is not None:
                daemon.stop()
        for node in NODES:
            _remove_groups(self.site.node(node))
        self.nodes, self.controller, self._munged = {}, None, None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _remove_groups(node: str) -> None:
    """End what still runs in a node's control groups, whose name is no other instance's, and remove them."""
    for root in _CGROUPS.glob(f"*/slurm_{node}"):
        groups = sorted((path for path in root.rglob("*") if path.is_dir()), reverse=True)
        for group in [*groups, root]:
            with suppress(OSError):
                for pid in (group / "cgroup.procs").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
            with suppress(OSError):  # it goes when the last process in it has gone
                group.rmdir()
