"""Principals, for admins: who may act, and as what (design 06, HTTP API; S1 section 10.4)."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path

from tenure.api import cursor
from tenure.api.answers import Answer, answered
from tenure.api.authentication import Admin, GatewayOf
from tenure.api.body import JsonRoute
from tenure.api.schemas.page import CursorParameter, Limit, Page, page
from tenure.api.schemas.principal import PasswordBody, PrincipalReference, PrincipalShown
from tenure.engine.actions import principals as acting
from tenure.model.principal import PrincipalChange, PrincipalSpec
from tenure.sdk import operations as ops
from tenure.sdk.password import password_hash

router = APIRouter(prefix="/principals", tags=["identity"], route_class=JsonRoute)
Named = Annotated[PrincipalReference, Path(alias="principal")]


@router.get("", operation_id="list_principals", summary="All principals", response_model=Page[PrincipalShown])
async def list_principals(
    identity: Admin, gateway: GatewayOf, limit: Limit = 50, cursor_: CursorParameter = None
) -> Answer:
    """By name, also those that are disabled."""
    after = str(cursor.opened(cursor_, "principals")[0]) if cursor_ else ""
    return await answered(
        gateway, identity, lambda caller: ops.principals_all(caller, limit=limit + 1, after=after),
        shown=lambda found: page(found, limit, lambda p: [p.name], "principals"),
    )  # fmt: skip


@router.post("", operation_id="create_principal", summary="Create a principal", response_model=PrincipalShown)
async def create_principal(body: PrincipalSpec, identity: Admin, gateway: GatewayOf) -> Answer:
    """The same again changes nothing; another one of that name is `already_exists`."""
    return await answered(gateway, identity, lambda caller: acting.create_principal(caller, body))


@router.get("/{principal}", operation_id="get_principal", summary="One principal", response_model=PrincipalShown)
async def get_principal(named: Named, identity: Admin, gateway: GatewayOf) -> Answer:
    """By name or EUID."""
    return await answered(gateway, identity, lambda caller: ops.principal(caller, named))


@router.patch(
    "/{principal}", operation_id="change_principal", summary="Change a principal", response_model=PrincipalShown
)
async def change_principal(named: Named, body: PrincipalChange, identity: Admin, gateway: GatewayOf) -> Answer:
    """What is left out stays. Roles that are taken away are gone from its tokens at once; disabled, it proves nothing."""
    changes = body.model_dump(exclude_unset=True)
    return await answered(gateway, identity, lambda caller: ops.change_principal(caller, named, **changes))


@router.put(
    "/{principal}/password", operation_id="set_password", summary="Set a password", response_model=PrincipalShown
)
async def set_password(named: Named, body: PasswordBody, identity: Admin, gateway: GatewayOf) -> Answer:
    """It signs in with this one from now on; its sessions end."""
    hashed = await asyncio.to_thread(password_hash, body.password)
    return await answered(gateway, identity, lambda caller: ops.set_password_hash(caller, named, hashed))
