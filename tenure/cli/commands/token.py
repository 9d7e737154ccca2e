"""``tenure token``: what programs prove to a server that they act for a principal."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from tenure.cli.arguments import LimitOption, ReasonOption, time_of
from tenure.cli.call import call_of
from tenure.model import euid
from tenure.model.errors import InvalidRequest
from tenure.model.principal import AccessToken
from tenure.model.roles import Role
from tenure.sdk.public_form import public
from tenure.terminal.listing import table
from tenure.terminal.wording import moment

group = typer.Typer(name="token", help="Access tokens: credentials of principals.", no_args_is_help=True)

_LATEST = datetime.max.replace(tzinfo=UTC)


@group.command()
def create(
    context: typer.Context,
    principal: Annotated[str, typer.Argument(metavar="PRINCIPAL", help="For whom: service:importer.")],
    label: Annotated[str, typer.Option("--label", help="What it is for, to tell it from others.")] = "",
    role: Annotated[list[Role] | None, typer.Option("--role", help="Only these of its roles (repeat).")] = None,
    expires: Annotated[str, typer.Option("--expires", metavar="TIME", help="When it ends: +30d, or a time with zone.")] = "+90d",
) -> None:  # fmt: skip
    """Create an access token and print its secret, which is shown this once and kept nowhere."""
    call = call_of(context)
    until = time_of(expires, "--expires") or _LATEST
    lifetime = math.ceil((until - datetime.now(UTC)).total_seconds())
    if lifetime < 60:
        raise InvalidRequest("--expires lies less than a minute ahead.", "Give one like +30d.")
    issued = call.client.create_token(principal, label=label, roles=role, lifetime_seconds=lifetime)
    secret, token = issued.secret.reveal(), issued.access_token
    name = euid.format_euid(euid.ACCESS_TOKEN, token.uid)
    # On stdout nothing but the secret, so that it can go into a file: tenure token create ... > FILE.
    call.answer({"access_token": public(token), "secret": secret}, Text(secret, no_wrap=True, overflow="ignore"))
    if not call.json:
        call.err.print(
            f"\nThis is the secret of {name}, for {principal}, until {moment(token.expires_at)}.\n"
            "It is not shown again: keep it where secrets are kept. Programs send it as\n"
            "    Authorization: Bearer SECRET\n"
            "and workers take it from TENURE_TOKEN, or from a file that holds nothing else.\n"
            f"A lost one is revoked: tenure token revoke {name}"
        )


@group.command("list")
def list_tokens(
    context: typer.Context,
    principal: Annotated[str | None, typer.Argument(metavar="[PRINCIPAL]", help="Of this one only.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Also those that have expired or were revoked.")] = False,
    limit: LimitOption = 100,
) -> None:
    """Access tokens and sessions, newest first, without their secrets."""
    call = call_of(context)
    found = call.client.tokens(principal, usable=not every, limit=limit)
    names = {p.uid: p.name for p in call.client.principals(limit=10_000)}
    rows = [
        (euid.format_euid(euid.ACCESS_TOKEN, t.uid), names.get(t.principal, ""), t.kind, t.label,
         ", ".join(t.roles) if t.roles is not None else "all of its", _end(t),
         moment(t.last_used_at) if t.last_used_at else "never")
        for t in found
    ]  # fmt: skip
    call.answer_each(
        found,
        table(["!token", "principal", "kind", "label", "roles", "until", "used"], rows) if rows
        else "There are no access tokens. Create one: tenure token create PRINCIPAL.",
    )  # fmt: skip


@group.command()
def revoke(
    context: typer.Context,
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="EUID of the token, e.g. KX-1T8Z; never its secret.")],
    reason: ReasonOption = None,
) -> None:
    """Make a token prove nothing any more; again changes nothing."""
    call = call_of(context)
    revoked = call.client.revoke_token(token, reason=reason)
    call.answer(revoked, f"Token {euid.format_euid(euid.ACCESS_TOKEN, revoked.uid)} proves nothing any more.")


def _end(token: AccessToken) -> str:
    return "revoked" if token.revoked_at is not None else moment(token.expires_at)
