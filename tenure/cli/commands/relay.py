"""``tenure relay``: a process that sends the ledger's events to their subscriptions."""

from __future__ import annotations

import asyncio
import logging
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenure.cli.call import Call, call_of
from tenure.cli.connection import database
from tenure.cli.logs import log_to
from tenure.sdk.settings import DEFAULT_TENANT
from tenure.store.postgres.migrate import migrate

if TYPE_CHECKING:
    from tenure.sdk.relay import RelaySettings

NAME = "relay"
_log = logging.getLogger("tenure.relay")


def run(
    context: typer.Context,
    all_tenants: Annotated[bool, typer.Option("--all-tenants/--one-tenant", help="Of all tenants, or of --tenant alone.")] = True,
    files: Annotated[Path | None, typer.Option("--files", envvar="TENURE_EVENT_FILES", help="Folder for events to files.")] = None,
    lease: Annotated[float, typer.Option("--lease", min=5, help="Seconds after which another takes over.")] = 30.0,
    poll: Annotated[float, typer.Option("--poll", min=0.05, help="Seconds between looks for something new.")] = 0.5,
    drain: Annotated[bool, typer.Option("--drain", help="Stop once there is nothing to send now.")] = False,
) -> None:  # fmt: skip
    """Send events to their subscriptions until Ctrl-C or SIGTERM. Any number may run: each subscription has one leader."""
    from tenure.sdk.relay import RelaySettings  # noqa: PLC0415 - with an HTTP client, for which the other commands do not wait

    call = call_of(context)
    log_to(call)
    found = database(call.dsn, start=True)
    if found.embedded:
        migrate(found.dsn)
    call.dsn = found.dsn
    tenant = None if all_tenants and not call.tenant else call.client.caller.tenant
    settings = RelaySettings(tenant, files.resolve() if files is not None else None, lease, poll)
    asyncio.run(_relay(call, found.dsn, settings, drain=drain))


async def _relay(call: Call, dsn: str, settings: RelaySettings, *, drain: bool) -> None:
    from tenure.sdk.relay import relay_on  # noqa: PLC0415

    async with relay_on(dsn, settings) as relay:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, relay.stop)
        whose = "all tenants" if settings.tenant is None else f"the tenant {call.tenant or DEFAULT_TENANT}"
        _log.info("Relaying the events of %s as %s.", whose, relay.holder)
        await (relay.drain() if drain else relay.run())
