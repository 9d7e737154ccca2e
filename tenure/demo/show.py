"""The demonstration from beginning to end: play, show what came of it, check what was promised."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tenure.demo import serving
from tenure.demo.acts import Cast, Play
from tenure.demo.narrator import Narrator
from tenure.demo.promises import Promise, promises
from tenure.demo.runs import BAD_ORDER
from tenure.demo.serving import Visit
from tenure.demo.stage import Stage, set_up
from tenure.engine.verify import Report
from tenure.flow.model.state_parts import Phase
from tenure.model import euid
from tenure.sdk.client import Tenure
from tenure.sdk.public_form import public
from tenure.store.postgres.migrate import migrate
from tenure.terminal.listing import table
from tenure.terminal.reasons import reasons_told
from tenure.terminal.verification import verification
from tenure.terminal.wording import age, state

_WINDOW = 300.0


def show_it(dsn: str, console: Console, document: Callable[[Any], None] | None = None, *, serve: bool = True) -> bool:
    """Run it on the database behind ``dsn``; True where all promises were kept. ``document`` gets the outcome as data.

    With ``serve`` a server is left running, for looking at it all in a browser.
    """
    migrate(dsn)
    stage = set_up(dsn)
    try:
        console.print(Text(f"Tenure at work, for the tenant {stage.tenant}; files in {stage.folder}", style="bold"))
        narrator = Narrator(stage.client, console, stage.crew)
        cast = Play(stage, narrator).run()
        report = stage.client.verify()
        kept = promises(stage.client, cast, report, stage.shop)
        visit = serving.leave_running(stage, dsn) if serve and serving.installed() else None
        _outcome(stage, cast, report, kept, narrator, console)
        _invitation(visit, narrator, console)
        if document is not None:
            document(_data(stage, cast, report, kept) | {"visit": asdict(visit) if visit is not None else None})
        return all(promise.kept for promise in kept)
    finally:
        stage.close()


def _outcome(
    stage: Stage, cast: Cast, report: Report, kept: list[Promise], narrator: Narrator, console: Console
) -> None:
    client = stage.client
    narrator.act("What happened to each subject")
    rows = [_row(client, name, uid) for name, uid in cast.subjects.items()]
    console.print(table(["!subject", "name", "chain", "!state", ">attempts", ">facts"], rows))
    runs = [_run_row(client, name, uid) for name, uid in cast.runs.items()]
    console.print(table(["!run", "name", "workflow", "!status", "steps", ">facts"], runs))
    for name in ("dog, on a GPU", "dog, tonight"):
        narrator.act(f"Why does “{name}” wait? (tenure subject why)")
        console.print(*reasons_told([r for r in client.why(cast.subjects[name]) if r.blocking]), sep="\n")
    narrator.act("The queues (tenure queue list, tenure top)")
    columns = ["queue", ">depth", ">oldest", ">done", ">failed", ">expired", ">replays", ">dead", ">held"]
    counts = client.metrics(window_seconds=_WINDOW)
    console.print(
        table(columns, [
            (c.queue_key, c.queue_depth, age(c.oldest_job_age_seconds), round(c.throughput_success_per_minute * _WINDOW / 60),
             c.retryable_failures_total + c.terminal_failures_total, c.expired_leases_total, c.idempotent_replay_total,
             c.dead_letter_count, c.held_count)
            for c in counts
        ])
    )  # fmt: skip
    narrator.act("The evidence (tenure verify)")
    console.print(*verification(report), sep="\n")
    narrator.act("What was promised")
    for promise in kept:
        console.print(
            Text("✓ " if promise.kept else "✗ ", style="green" if promise.kept else "bold red").append(promise.text)
        )
    dog = euid.format_euid(euid.SUBJECT, cast.subjects["dog"])
    narrator.act("Look further")
    undone = euid.format_euid(euid.RUN, cast.runs[BAD_ORDER])
    for command in (
        f"subject history {dog}", f"subject lineage {dog}", f"run timeline {undone}", f"run graph {undone}",
        "lease list --status all", "top",
    ):  # fmt: skip
        console.print(f"  {_command()} --tenant {stage.tenant} {command}")


def _invitation(visit: Visit | None, narrator: Narrator, console: Console) -> None:
    if visit is None:
        return
    narrator.act("See it in a browser")
    console.print(Text("  ").append(visit.address, style="bold"))
    console.print(f"  sign in as {visit.name} with the password {visit.password}")
    console.print(f"  It runs until {_command()} down, which stops the database too.")


def _command() -> str:
    """How the command is called here: by name where the shell finds it, else by its path beside this Python."""
    beside = Path(sys.executable).parent / "tenure"
    if shutil.which("tenure") or not beside.exists():
        return "tenure"
    return os.path.relpath(beside)


def _row(client: Tenure, name: str, uid: int) -> tuple[Any, ...]:
    thread = client.history(uid).thread
    attempts = sorted(thread.attempts.values(), key=lambda a: a.uid)
    chain = list(dict.fromkeys(a.queue_key or "" for a in attempts)) or [thread.envelope.next_queue_key or ""]
    chain = chain if len(chain) < 3 else [chain[0], "…", chain[-1]]
    return (
        euid.format_euid(euid.SUBJECT, uid), name, " → ".join(chain), state(thread.envelope.state), len(attempts),
        thread.envelope.seq,
    )  # fmt: skip


def _run_row(client: Tenure, name: str, uid: int) -> tuple[Any, ...]:
    seen = client.inspect_run(uid)
    done = " → ".join(step.step for step in seen.steps if step.phase not in (Phase.IDLE, Phase.CANCELED))
    return euid.format_euid(euid.RUN, uid), name, seen.run.name, seen.run.status, done, seen.run.seq


def _data(stage: Stage, cast: Cast, report: Report, kept: list[Promise]) -> dict[str, Any]:
    standing = {name: stage.client.inspect(uid) for name, uid in cast.subjects.items()}
    return {
        "tenant": stage.tenant, "folder": str(stage.folder), "killed": cast.killed,
        "subjects": {name: public(each) for name, each in standing.items()},
        "runs": {name: public(stage.client.inspect_run(uid)) for name, uid in cast.runs.items()},
        "verify": {"clean": report.clean, **public(report)},
        "promises": [{"promise": promise.text, "kept": promise.kept} for promise in kept],
        "kept": all(promise.kept for promise in kept),
    }  # fmt: skip
