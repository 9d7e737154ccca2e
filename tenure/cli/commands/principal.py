"""``tenure principal``: who may act, and as what."""

from __future__ import annotations

from typing import Annotated

import typer

from tenure.cli.arguments import LimitOption, ReasonOption
from tenure.cli.call import call_of
from tenure.cli.secrets import read_password
from tenure.model import euid
from tenure.model.errors import InvalidRequest
from tenure.model.principal import Principal
from tenure.model.roles import Role
from tenure.terminal.listing import table
from tenure.terminal.wording import moment, state

group = typer.Typer(name="principal", help="Principals: who may act through a server.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="PRINCIPAL", help="user:ada, service:importer, agent:cluster-1.")]
RoleOption = Annotated[list[Role] | None, typer.Option("--role", help="What it may do (repeat).")]


@group.command()
def create(
    context: typer.Context, name: NameArgument, role: RoleOption = None,
    display_name: Annotated[str, typer.Option("--display-name", help="What people call it.")] = "",
    password: Annotated[bool, typer.Option("--password", help="Ask for a password (or read a line of stdin).")] = False,
    oidc_issuer: Annotated[str | None, typer.Option("--oidc-issuer", help="Who vouches for it.")] = None,
    oidc_subject: Annotated[str | None, typer.Option("--oidc-subject", help="What it is called there.")] = None,
    reason: ReasonOption = None,
) -> None:  # fmt: skip
    """Create a principal; the same again changes nothing. Makes the tenant where it is not there."""
    call = call_of(context)
    client = call.founding_client
    given = read_password(name) if password else None
    with client.transaction() as tx:  # a password that is refused leaves no principal behind
        made = tx.create_principal(
            name, roles=role or (), display_name=display_name, oidc_issuer=oidc_issuer, oidc_subject=oidc_subject,
            reason=reason,
        )  # fmt: skip
        if given is not None:
            made = tx.set_password(made, given)
    call.answer(made, f"{_named(made)} is {_roles(made)}.", "", *_next_steps(made))


@group.command("list")
def list_principals(context: typer.Context, limit: LimitOption = 1000) -> None:
    """All principals of the tenant."""
    call = call_of(context)
    found = call.client.principals(limit=limit)
    rows = [
        (p.name, ", ".join(p.roles), state(p.status), _proves(p), moment(p.created_at) if p.created_at else "")
        for p in found
    ]
    call.answer_each(
        found,
        table(["!principal", "roles", "!status", "signs in by", "created"], rows) if rows
        else "There are no principals. Create an admin: tenure principal create user:NAME --role admin --password.",
    )  # fmt: skip


@group.command()
def roles(
    context: typer.Context, name: NameArgument,
    given: Annotated[list[Role] | None, typer.Argument(metavar="[ROLE]...", help="From now on exactly these.")] = None,
    none: Annotated[bool, typer.Option("--none", help="Take all away.")] = False,
    reason: ReasonOption = None,
) -> None:  # fmt: skip
    """Set what a principal may do, or show it. Roles that are taken away are gone from its tokens at once."""
    call = call_of(context)
    if given and none:
        raise InvalidRequest("Roles and --none contradict each other.", "Give one of them.")
    client = call.client
    changes = bool(given) or none
    found = client.change_principal(name, roles=given or (), reason=reason) if changes else client.principal(name)
    call.answer(found, f"{_named(found)} is {_roles(found)}.")


@group.command()
def disable(context: typer.Context, name: NameArgument, reason: ReasonOption = None) -> None:
    """Let a principal do nothing any more: its sessions end, its tokens prove nothing."""
    call = call_of(context)
    changed = call.client.disable_principal(name, reason=reason)
    call.answer(changed, f"{_named(changed)} may do nothing any more.")


@group.command()
def enable(context: typer.Context, name: NameArgument, reason: ReasonOption = None) -> None:
    """Undo disabling: tokens that have not run out prove it again."""
    call = call_of(context)
    changed = call.client.enable_principal(name, reason=reason)
    call.answer(changed, f"{_named(changed)} is {_roles(changed)} again.")


@group.command()
def password(context: typer.Context, name: NameArgument) -> None:
    """Set the password that a person signs in with; asks for it, or reads a line of stdin. Its sessions end."""
    call = call_of(context)
    found = call.client.principal(name)
    changed = call.client.set_password(found, read_password(found.name))
    call.answer(changed, f"{_named(changed)} signs in with the new password; its sessions have ended.")


def _named(principal: Principal) -> str:
    return f"{principal.name} ({euid.format_euid(euid.PRINCIPAL, principal.uid)})"


def _roles(principal: Principal) -> str:
    return ", ".join(principal.roles) or "without a role: it may do nothing"


def _proves(principal: Principal) -> str:
    ways = [*(["password"] if principal.has_password else []), *(["OpenID Connect"] if principal.oidc_issuer else [])]
    return ", ".join(ways)


def _next_steps(principal: Principal) -> list[str]:
    if principal.has_password or principal.oidc_issuer:
        return [f"Next: tenure serve, and sign in at /ui as {principal.name.partition(':')[2]}."]
    return [
        f"Next: tenure token create {principal.name} for a program, tenure principal password {principal.name} for a person."
    ]
