"""``tenure serve``: the HTTP API and the operator's screens."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenure.api import background
from tenure.cli.call import Call, call_of
from tenure.cli.connection import database
from tenure.cli.logs import log_to
from tenure.cli.spans import export_spans
from tenure.model.errors import InvalidRequest, StoreUnavailable
from tenure.sdk.tenants import anybody
from tenure.store.postgres.migrate import migrate, pending

if TYPE_CHECKING:
    from tenure.api.settings import OidcProvider

NAME = "serve"


def run(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8000,
    public_url: Annotated[
        str | None, typer.Option(envvar="TENURE_PUBLIC_URL", help="How browsers reach it, behind a proxy.")
    ] = None,
    trusted_proxies: Annotated[
        str | None, typer.Option(help="Addresses of proxies whose X-Forwarded-For is believed.")
    ] = None,
    connections: Annotated[int, typer.Option(min=1, help="At most so many connections to the database.")] = 20,
    rate: Annotated[float, typer.Option(min=0.1, help="Requests a second for each credential, over time.")] = 200.0,
    burst: Annotated[int, typer.Option(min=1, help="Requests at once for each credential.")] = 400,
    listen_dsn: Annotated[str | None, typer.Option(help="A direct DSN for LISTEN, beside a pooler.")] = None,
    open_metrics: Annotated[bool, typer.Option(help="Let anybody read /metrics of this tenant.")] = False,
    relay: Annotated[bool, typer.Option(help="Also send events to their subscriptions.")] = True,
    event_files: Annotated[
        Path | None, typer.Option(envvar="TENURE_EVENT_FILES", help="The folder for events that go to files.")
    ] = None,
    ui: Annotated[bool, typer.Option(help="Serve the operator's screens at /ui.")] = True,
) -> None:
    """Serve the HTTP API and the operator's screens until Ctrl-C or SIGTERM.

    People of the tenant given by --tenant sign in at /ui; programs bring a token, of whatever tenant. Single sign-on is
    set by TENURE_OIDC_ISSUER, TENURE_OIDC_CLIENT_ID and TENURE_OIDC_CLIENT_SECRET.
    """
    background.require_installed()
    call = call_of(context)
    log_to(call)
    export_spans("tenure-server")
    dsn = _migrated(call)

    from tenure.api.settings import ServerSettings  # noqa: PLC0415 - what belongs to the extra is not always there
    from tenure.cli.serving import serve  # noqa: PLC0415

    settings = ServerSettings(
        dsn=dsn, tenant=call.tenant or os.environ.get("TENURE_TENANT") or "default", public_url=public_url,
        max_connections=connections, rate_per_second=rate, rate_burst=burst, listen_dsn=listen_dsn,
        open_metrics=open_metrics, oidc=_oidc(), ui=ui, relay=relay,
        event_files=event_files.resolve() if event_files is not None else None,
    )  # fmt: skip
    if not anybody(dsn, settings.tenant) and settings.oidc is None:
        call.err.print(
            f"Nobody of the tenant {settings.tenant!r} can sign in yet. Create the first admin:\n"
            "    tenure principal create user:NAME --role admin --password"
        )
    serve(settings, host=host, port=port, trusted_proxies=trusted_proxies)


def _migrated(call: Call) -> str:
    """The DSN of a database with the present schema: the embedded one is migrated, one of your own is only looked at."""
    found = database(call.dsn, start=True)
    if found.embedded:
        migrate(found.dsn)
    elif waiting := pending(found.dsn):
        raise StoreUnavailable(
            f"The database lacks {len(waiting)} migration(s), from {waiting[0]} on.", "Run: tenure migrate."
        )
    return found.dsn


def _oidc() -> OidcProvider | None:
    issuer = os.environ.get("TENURE_OIDC_ISSUER")
    if not issuer:
        return None
    from tenure.api.settings import OidcProvider  # noqa: PLC0415

    missing = [name for name in ("TENURE_OIDC_CLIENT_ID", "TENURE_OIDC_CLIENT_SECRET") if not os.environ.get(name)]
    if missing:
        raise InvalidRequest(f"TENURE_OIDC_ISSUER is set, {' and '.join(missing)} not.", "Set all three, or none.")
    return OidcProvider(
        issuer=issuer, client_id=os.environ["TENURE_OIDC_CLIENT_ID"], client_secret=os.environ["TENURE_OIDC_CLIENT_SECRET"],
        label=os.environ.get("TENURE_OIDC_LABEL") or "Single sign-on",
        create_principals=os.environ.get("TENURE_OIDC_CREATE_PRINCIPALS", "") in ("1", "true", "yes"),
    )  # fmt: skip
