"""``tenure top``: what happens now, refreshed each second."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from tenure.cli.call import call_of
from tenure.cli.connection import without_password
from tenure.model.queue import Queue
from tenure.model.worker import Worker
from tenure.sdk.client import Tenure
from tenure.sdk.public_form import public
from tenure.store.records import QueueCounts
from tenure.terminal.listing import table
from tenure.terminal.wording import age, rate, shown, state

NAME = "top"
_WINDOW = 60.0
_WORKERS = 15


@dataclass(frozen=True, slots=True)
class Frame:
    """What one look at the database showed."""

    at: datetime
    queues: list[Queue]
    counts: list[QueueCounts]
    workers: list[Worker]


def run(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Print one frame and end.")] = False,
    interval: Annotated[float, typer.Option("--interval", min=0.1, max=3600, help="Seconds between two looks.")] = 1.0,
) -> None:
    """Queues with depth, oldest age, leases, throughput, holds and dead letters; and the workers. Ctrl-C ends it."""
    call = call_of(context)
    where = f"{without_password(call.client.settings.dsn)}  tenant {call.client.settings.tenant}"
    frame = look(call.client)
    # Ctrl-C is how it is meant to end.
    with suppress(KeyboardInterrupt):
        if once or call.json or not call.out.is_terminal:
            while True:
                call.answer(frame_document(frame), drawn(frame, where))
                if once:
                    return
                time.sleep(interval)
                frame = look(call.client)
        with Live(drawn(frame, where), console=call.out, screen=True, auto_refresh=False) as live:
            while True:
                time.sleep(interval)
                live.update(drawn(look(call.client), where), refresh=True)


def look(client: Tenure) -> Frame:
    """Read everything that a frame shows."""
    queues = client.queues()
    counts = client.metrics([q.queue_key for q in queues], window_seconds=_WINDOW)
    return Frame(datetime.now(UTC), queues, counts, client.workers())


def frame_document(frame: Frame) -> dict[str, Any]:
    """A frame as plain data."""
    return {"at": public(frame.at), "queues": public(frame.counts), "workers": public(frame.workers)}


def drawn(frame: Frame, where: str) -> RenderableType:
    """A frame for people."""
    counts = {c.queue_key: c for c in frame.counts}
    total = (
        f"{sum(c.queue_depth for c in frame.counts):,} waiting, {sum(c.active_leases for c in frame.counts):,} leased, "
        f"{rate(sum(c.throughput_success_per_minute for c in frame.counts))} done/min, "
        f"{sum(c.held_count for c in frame.counts):,} held, {sum(c.dead_letter_count for c in frame.counts):,} dead letters"
    )
    head = Text("tenure top", style="bold").append(f"  {shown(where)}  {frame.at:%H:%M:%S}Z", style="dim")
    parts: list[RenderableType] = [head, total]
    columns = ["queue", ">depth", ">oldest", ">leased", ">done/min", ">fail/min", ">held", ">dead", ">workers"]
    rows = [_queue_row(queue, counts[queue.queue_key]) for queue in frame.queues]
    parts.append(table(columns, rows) if rows else "There are no queues yet.")
    shown_workers = frame.workers[:_WORKERS]
    rows = [
        (w.worker_key, w.worker_type, state(w.effective_status(frame.at)), age((frame.at - w.heartbeat_at).total_seconds()),
         w.max_concurrent_leases, ", ".join(w.capabilities))
        for w in shown_workers
    ]  # fmt: skip
    parts.append(
        table(["worker", "type", "!status", ">beat", ">limit", "capabilities"], rows)
        if rows
        else "There are no workers."
    )
    if len(frame.workers) > _WORKERS:
        parts.append(f"and {len(frame.workers) - _WORKERS} more: tenure workers list")
    return Group(*parts)


def _queue_row(queue: Queue, count: QueueCounts) -> tuple[Any, ...]:
    name = Text(shown(queue.queue_key), style="" if queue.enabled else "dim strike")
    dead = Text(str(count.dead_letter_count), style="red" if count.dead_letter_count else "")
    held = Text(str(count.held_count), style="magenta" if count.held_count else "")
    idle = count.queue_depth and not count.worker_online_count
    workers = Text(str(count.worker_online_count), style="red" if idle else "")
    return (
        name, f"{count.queue_depth:,}", age(count.oldest_job_age_seconds), count.active_leases,
        rate(count.throughput_success_per_minute), rate(count.throughput_failure_per_minute), held, dead, workers,
    )  # fmt: skip
