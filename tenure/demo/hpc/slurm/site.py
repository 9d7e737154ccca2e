"""What the files of a Slurm of our own say: its nodes, its partitions, and how it does things."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CPUS = 64
"""Cores that each node claims to have. They are as many as tests want to run jobs, not as many as there are."""
MEMORY_MIB = 8000

#: Partition -> (node, priority tier, what happens to its jobs when a higher tier needs the node).
PARTITIONS = {
    "normal": ("work", 10, "off"),
    "scavenge": ("spare", 1, "requeue"),
    "cheap": ("spare", 1, "cancel"),
    "urgent": ("spare", 100, "off"),
    "frail": ("frail", 10, "off"),
    "closed": ("frail", 10, "off"),
}
"""``urgent`` takes the node ``spare`` away from jobs of ``scavenge``, which are requeued, and of ``cheap``, which end. The
node ``frail`` is there to be taken down, for which no other partition has to suffer. Jobs of ``closed`` wait for ever.
"""
NODES = ("work", "spare", "frail")


@dataclass(frozen=True, slots=True)
class Site:
    """One Slurm: where its files are, and its ports."""

    folder: Path
    name: str
    """Begins the names of its nodes, so that they are no other instance's."""
    ports: tuple[int, ...]
    """The controller's, then one for each node."""
    cgroups: bool
    min_job_age: int
    """Seconds for which ``squeue`` knows a job that has ended."""
    hooks: Mapping[str, Path]
    """Programs of the site that Slurm runs, such as ``Epilog``."""

    @property
    def conf(self) -> Path:
        """``slurm.conf``."""
        return self.folder / "slurm.conf"

    @property
    def completions(self) -> Path:
        """Where the controller writes down each job that ends (``JobCompLoc``)."""
        return self.folder / "completions.log"

    @property
    def socket(self) -> Path:
        """Munge's socket."""
        return self.folder / "munge" / "socket"

    def node(self, name: str) -> str:
        """The full name of one of ``NODES``."""
        return f"{self.name}-{name}"


def cgroups_usable() -> bool:
    """Whether jobs can be put into control groups of their own: version 1, mounted, and ours to write."""
    root = Path("/sys/fs/cgroup")
    return all((root / kind / "cgroup.procs").exists() and os.access(root / kind, os.W_OK) for kind in _CONTROLLERS)


def write(site: Site) -> None:
    """Write ``slurm.conf`` and ``cgroup.conf``."""
    site.conf.write_text(_slurm_conf(site))
    (site.folder / "cgroup.conf").write_text(
        "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nConstrainRAMSpace=yes\n"
        if site.cgroups
        else "CgroupPlugin=cgroup/v1\n"
    )


_CONTROLLERS = ("freezer", "memory")

_FIXED = """
AuthType=auth/munge
CredType=cred/munge
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,default_queue_depth=5000,sched_min_interval=0
PriorityType=priority/basic
PreemptType=preempt/partition_prio
PreemptMode=requeue
JobRequeue=1
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobAcctGatherType=jobacct_gather/none
MaxJobCount=100000
KillWait=2
ReturnToService=2
SlurmctldTimeout=60
SlurmdTimeout=60
SlurmdParameters=config_overrides
SlurmctldDebug=info
SlurmdDebug=info
"""


def _slurm_conf(site: Site) -> str:
    folder, user, host = site.folder, getpass.getuser(), socket.gethostname().partition(".")[0]
    lines = [
        f"ClusterName={site.name}",
        f"SlurmctldHost={host}(127.0.0.1)",
        f"SlurmctldPort={site.ports[0]}",
        f"SlurmUser={user}",
        f"SlurmdUser={user}",
        # A job that is requeued waits for as long as its old credential is good.
        f"AuthInfo=socket={site.socket},cred_expire=15",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool-%n",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/slurmd-%n.pid",
        f"JobCompLoc={site.completions}",
        f"MinJobAge={site.min_job_age}",
        # Without control groups Slurm cannot tell who used too much memory, and finds processes by their parents.
        f"ProctrackType=proctrack/{'cgroup' if site.cgroups else 'linuxproc'}",
        f"TaskPlugin=task/{'cgroup' if site.cgroups else 'none'}",
        *(f"{hook}={program}" for hook, program in site.hooks.items()),
    ]
    nodes = [
        f"NodeName={site.node(node)} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={CPUS} RealMemory={MEMORY_MIB}"
        for node, port in zip(NODES, site.ports[1:], strict=True)
    ]
    partitions = [
        f"PartitionName={name} Nodes={site.node(node)} PriorityTier={tier} PreemptMode={mode} MaxTime=02:00:00 DefMemPerCPU=32"
        f" State={'DOWN' if name == 'closed' else 'UP'} Default={'YES' if name == 'normal' else 'NO'}"
        for name, (node, tier, mode) in PARTITIONS.items()
    ]
    return "\n".join([*lines, _FIXED.strip(), *nodes, *partitions, ""])
