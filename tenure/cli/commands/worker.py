"""``tenure worker``: run the tasks of an application."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenure.cli.call import Call, call_of
from tenure.cli.exit_codes import ExitCode
from tenure.cli.loading import load
from tenure.cli.logs import log_to
from tenure.cli.spans import export_spans, send_spans
from tenure.model.errors import InvalidRequest
from tenure.model.states import WorkerType
from tenure.sdk.http.address import Address

if TYPE_CHECKING:
    from tenure.sdk.worker import Worker

NAME = "worker"


def run(
    context: typer.Context,
    application: Annotated[str, typer.Argument(metavar="MODULE:APP", help="Where the tasks are: shop.jobs:app.")],
    queue: Annotated[list[str] | None, typer.Option("--queue", help="Serve these only (repeat); else all of its tasks'.")] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", help="Handlers at once.")] = 100,
    prefetch: Annotated[int | None, typer.Option("--prefetch", help="How many more are held ready.")] = None,
    batch: Annotated[int, typer.Option("--batch", help="At most so many in one claim.")] = 100,
    processes: Annotated[int, typer.Option("--processes", help="For tasks on the process executor.")] = 2,
    worker_key: Annotated[str | None, typer.Option("--worker-key", help="An identity that outlives the process.")] = None,
    display_name: Annotated[str, typer.Option("--display-name", help="What people call it.")] = "",
    worker_type: Annotated[WorkerType, typer.Option("--type", help="What it is.")] = WorkerType.SERVICE,
    capability: Annotated[list[str] | None, typer.Option("--capability", help="What it can do (repeat).")] = None,
    site: Annotated[list[str] | None, typer.Option("--site", help="Site scope (repeat).")] = None,
    platform: Annotated[list[str] | None, typer.Option("--platform", help="Platform scope (repeat).")] = None,
    assay: Annotated[list[str] | None, typer.Option("--assay", help="Assay scope (repeat).")] = None,
    lease_ttl: Annotated[int | None, typer.Option("--lease-ttl", help="Seconds that a lease lasts, else the queue's.")] = None,
    grace: Annotated[float, typer.Option("--grace", help="Seconds that running handlers get when it is asked to stop.")] = 30.0,
    sweep: Annotated[float, typer.Option("--sweep", help="Seconds between looks for leases that others let run out.")] = 5.0,
    listen_dsn: Annotated[str | None, typer.Option("--listen-dsn", help="A direct DSN for LISTEN, beside a pooler.")] = None,
    url: Annotated[str | None, typer.Option("--url", envvar="TENURE_URL", help="A server to reach over HTTP.")] = None,
    token_file: Annotated[Path | None, typer.Option("--token-file", help="Where its token is, else in TENURE_TOKEN.")] = None,
    drain: Annotated[bool, typer.Option("--drain", help="Stop once there is nothing to claim now.")] = False,
) -> None:  # fmt: skip
    """Run the tasks of an application until Ctrl-C or SIGTERM, which let it finish or give back what it holds.

    A second one ends the grace of what still runs at once.
    """
    options: dict[str, Any] = {
        "queues": queue or None, "concurrency": concurrency, "prefetch": concurrency if prefetch is None else prefetch,
        "batch": batch, "processes": processes, "worker_key": worker_key, "display_name": display_name,
        "worker_type": worker_type, "capabilities": capability or (), "site_scope": site or (),
        "platform_scope": platform or (), "assay_scope": assay or (), "lease_ttl_seconds": lease_ttl, "grace": grace,
        "sweep_interval": sweep, "listen_dsn": listen_dsn, "drain": drain,
    }  # fmt: skip
    address = _address(url, token_file) if url else None
    work(call_of(context), application, options, address)


def _address(url: str, token_file: Path | None) -> Address:
    if token_file is not None:
        return Address(url, token_file=token_file)
    return Address(url, os.environ.get("TENURE_TOKEN"), os.environ.get("TENURE_TOKEN_FILE"))


def work(call: Call, application: str, options: Mapping[str, Any], address: Address | None = None) -> None:
    """Load the application, run a worker for it, and say at the end what it did.

    With an ``address`` it works over HTTP, and nothing of a database is opened or started.
    """
    from tenure.sdk.worker import Worker  # noqa: PLC0415 - which the other commands do not wait for

    log_to(call)
    export_spans("tenure-worker")
    if address is not None and call.dsn:
        raise InvalidRequest(
            "Both a URL and a DSN are given.", "Unset TENURE_DSN or TENURE_URL: a worker uses one of them."
        )
    # An application that names no database of its own takes that of the command line.
    for variable, given in (("TENURE_DSN", call.dsn), ("TENURE_TENANT", call.tenant), ("TENURE_ACTOR", call.actor)):
        if given:
            os.environ[variable] = given
    client = load(application, verbose=call.verbose)
    if address is not None:
        client.reach_over_http(address)
    worker = Worker(client, **options)
    worker.run(leave=partial(_leave, call, worker))
    _tell(call, worker)


def _tell(call: Call, worker: Worker) -> None:
    report = worker.report()
    done = ", ".join(f"{name} {count:,}" for name, count in report.items() if count)
    call.answer(
        {"event": "stopped", "reason": worker.reason, **report},
        f"Stopped ({worker.reason.rstrip('.')}): {done or 'nothing was done'}.",
    )


def _leave(call: Call, worker: Worker) -> None:
    """End the process now: its leases are renewed no more, so nothing of it may go on for longer than it must."""
    try:
        _tell(call, worker)
        send_spans()
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(ExitCode.DONE)
