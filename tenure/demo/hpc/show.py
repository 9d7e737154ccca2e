"""The demonstration on Slurm from beginning to end: set up, play, show what came of it, check what was promised, clean up."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tenure.demo.hpc.acts import Cast, Play, report_of
from tenure.demo.hpc.promises import promises
from tenure.demo.hpc.slow_sbatch import SlowSbatch
from tenure.demo.hpc.slurm import SlurmCluster
from tenure.demo.hpc.slurm.site import PARTITIONS
from tenure.demo.hpc.stage import Manners, Node, Server
from tenure.demo.hpc.telling import Teller
from tenure.demo.promises import Promise
from tenure.embedded import Cluster
from tenure.engine.verify import Report
from tenure.sdk.public_form import public
from tenure.store.postgres.migrate import migrate
from tenure.terminal.listing import table
from tenure.terminal.verification import verification

_TENANT, _NODE = "demo-hpc", "cluster-1"


def show_on_slurm(console: Console, document: Callable[[Any], None] | None = None) -> bool:
    """Run it; True where all promises were kept. ``document`` gets the outcome as data.

    Everything is in a temporary folder and ends with it: a Slurm, a PostgreSQL, a server, an agent. Raises SlurmMissing
    where Slurm is not installed.
    """
    # Sockets want short paths, and Slurm wants folders that nobody else may write to.
    folder = Path(tempfile.mkdtemp(prefix="tenure-hpc-"))
    folder.chmod(0o755)
    try:
        with SlurmCluster(folder / "slurm") as slurm, _database(folder) as dsn, _server(dsn, folder) as server:
            console.print(
                Text(f"Tenure and Slurm at work; everything is in {folder}, for as long as this takes", style="bold")
            )
            version = slurm.run("sbatch", "--version").strip()
            console.print(f"{version} with the partitions {', '.join(PARTITIONS)}; tenure serve on port {server.port}")
            return _played(server, slurm, folder, console, document)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _played(
    server: Server, slurm: SlurmCluster, folder: Path, console: Console, document: Callable[[Any], None] | None
) -> bool:
    sbatch = SlowSbatch(folder / "programs")
    manners = Manners(slurm={"programs": str(sbatch.folder), "settle_seconds": 1})
    node = Node(server, slurm, _NODE, folder / "node", manners)
    try:
        teller = Teller(server, node, console)
        cast = Play(server, node, sbatch, teller).run()
        report = server.client.verify()
        kept = promises(server, slurm, cast, report)
        _outcome(server, cast, report, kept, teller, console)
        if document is not None:
            document(_data(server, cast, report, kept))
        return all(promise.kept for promise in kept)
    finally:
        node.stop()


def _outcome(server: Server, cast: Cast, report: Report, kept: list[Promise], teller: Teller, console: Console) -> None:
    teller.act("What became of each submission")
    rows = [_row(name, server.shown(submission)) for name, submission in cast.submissions.items()]
    console.print(table(["!submission", "name", "jobs", "ended", "found", "published"], rows))
    teller.act("The evidence (tenure verify)")
    console.print(*verification(report), sep="\n")
    teller.act("What was promised")
    for promise in kept:
        console.print(
            Text("✓ " if promise.kept else "✗ ", style="green" if promise.kept else "bold red").append(promise.text)
        )


def _row(name: str, shown: dict[str, Any]) -> tuple[Any, ...]:
    jobs = ", ".join(str(each["scheduler_ref"]["slurm_job_id"]) for each in shown["executions"])
    ends = ", ".join(str(each["state"]) for each in shown["executions"])
    if shown["projection_state"] == "failed":
        return shown["submission_id"], name, jobs, ends, shown["failure"]["code"], ""
    report = report_of(shown)
    numbers = ("", "") if report is None else (f"{report['found']:.4f}", f"{report['published']:.4f}")
    return shown["submission_id"], name, jobs, ends, *numbers


def _data(server: Server, cast: Cast, report: Report, kept: list[Promise]) -> dict[str, Any]:
    return {
        "submissions": {name: server.shown(submission) for name, submission in cast.submissions.items()},
        "verify": {"clean": report.clean, **public(report)},
        "promises": [{"promise": promise.text, "kept": promise.kept} for promise in kept],
        "kept": all(promise.kept for promise in kept),
    }


@contextmanager
def _database(folder: Path) -> Iterator[str]:
    """A PostgreSQL of its own, migrated."""
    cluster = Cluster(folder / "database")
    try:
        dsn = cluster.start()
        migrate(dsn)
        yield dsn
    finally:
        cluster.stop("immediate")


@contextmanager
def _server(dsn: str, folder: Path) -> Iterator[Server]:
    server = Server(dsn, _TENANT, folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
