"""Access tokens, for admins: what programs prove themselves with (design 06, HTTP API)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from tenure.api import cursor
from tenure.api.answers import Answer, answered
from tenure.api.authentication import Admin, GatewayOf
from tenure.api.body import JsonRoute
from tenure.api.schemas.page import CursorParameter, Limit, Page, page
from tenure.api.schemas.principal import (
    AccessTokenEuid,
    AccessTokenShown,
    CreateTokenBody,
    IssuedToken,
    PrincipalReference,
)
from tenure.sdk import operations as ops
from tenure.sdk.public_form import public

router = APIRouter(prefix="/tokens", tags=["identity"], route_class=JsonRoute)


@router.get(
    "", operation_id="list_tokens", summary="Access tokens, newest first", response_model=Page[AccessTokenShown]
)
async def list_tokens(
    identity: Admin, gateway: GatewayOf, limit: Limit = 50, cursor_: CursorParameter = None,
    principal: Annotated[PrincipalReference | None, Query(description="Of this principal only.")] = None,
    ended: Annotated[bool, Query(description="Also those that have expired or were revoked.")] = False,
) -> Answer:  # fmt: skip
    """Of programs and of sessions, without their secrets."""
    bound_to = ("tokens", principal, ended)
    before = int(cursor.opened(cursor_, *bound_to)[0]) if cursor_ else None
    return await answered(
        gateway, identity,
        lambda caller: ops.tokens(caller, principal, usable=not ended, limit=limit + 1, before=before),
        shown=lambda found: page(found, limit, lambda t: [t.uid], *bound_to),
    )  # fmt: skip


@router.post("", operation_id="create_token", summary="Create an access token", response_model=IssuedToken)
async def create_token(body: CreateTokenBody, identity: Admin, gateway: GatewayOf) -> Answer:
    """The secret is in this answer and nowhere else: a lost one is revoked, and another one made."""
    return await answered(
        gateway, identity, lambda caller: ops.create_token(caller, body.principal, **body.spec()), shown=_issued
    )


@router.delete("/{token_euid}", operation_id="revoke_token", summary="Revoke an access token",
               response_model=AccessTokenShown)  # fmt: skip
async def revoke_token(
    token: Annotated[AccessTokenEuid, Path(alias="token_euid")], identity: Admin, gateway: GatewayOf,
    reason: Annotated[str | None, Query(max_length=500, pattern=r"^[^\x00-\x1f]*$", description="Why; kept as evidence.")] = None,
) -> Answer:  # fmt: skip
    """It proves nothing from now on. Revoking it again changes nothing."""
    return await answered(gateway, identity, lambda caller: ops.revoke_token(caller, token, reason=reason))


def _issued(issued: ops.IssuedToken) -> dict[str, Any]:
    return {"access_token": public(issued.access_token), "secret": issued.secret.reveal()}
