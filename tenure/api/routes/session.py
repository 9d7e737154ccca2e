"""Signing in and out, and who one is (design 06, HTTP API)."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tenure.api import sessions
from tenure.api.authentication import Asker, GatewayOf
from tenure.api.body import JsonRoute
from tenure.api.limits import Limits
from tenure.api.password_check import PasswordCheck
from tenure.api.same_origin import refuse_cross_site
from tenure.model.errors import Forbidden, Unauthenticated
from tenure.model.json_text import instant
from tenure.model.principal import Identity
from tenure.sdk import operations as ops
from tenure.sdk.password import LONGEST, SHORTEST, password_hash
from tenure.store.records import Proved

router = APIRouter(prefix="/session", tags=["session"], route_class=JsonRoute)

_Line = StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")


class SignInBody(BaseModel):
    """A person's name and password."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "ada", "password": "several words in a row"}]},  # nosec B105
    )

    name: Annotated[str, _Line] = Field(description="`user:ada`, or `ada` for short.")
    password: Annotated[str, _Line]
    tenant: Annotated[str, _Line] | None = Field(None, description="Another than the server's own.")


class Session(BaseModel):
    """Who one is, and what one may do."""

    principal: str = Field(examples=["user:ada"])
    display_name: str = Field(examples=["Ada Lovelace"])
    tenant: str = Field(examples=["default"])
    roles: list[str] = Field(examples=[["operator"]])
    permissions: list[str] = Field(examples=[["operate", "read", "submit", "work"]])
    kind: str | None = Field(description="`SESSION` for the cookie of a person, `API` for the token of a program.")
    expires_at: str | None = Field(examples=["2026-11-28T22:00:00+00:00"])


@router.post("", operation_id="sign_in", summary="Sign in", response_model=Session,
             dependencies=[Depends(refuse_cross_site)])  # fmt: skip
async def sign_in(body: SignInBody, request: Request, response: Response, gateway: GatewayOf) -> dict[str, Any]:
    """Begin a session: the answer sets a cookie. An unknown name and a wrong password are the same."""
    settings = request.app.state.settings
    limits: Limits = request.app.state.limits
    passwords: PasswordCheck = request.app.state.passwords
    tenant = body.tenant or settings.tenant
    name = body.name if ":" in body.name else f"user:{body.name}"
    limits.sign_in(request, tenant, name)
    found = await gateway.perform_unbound(lambda store: store.signing_in(tenant, name))
    who, password_hash = found if found is not None else (None, None)
    if not await passwords.fits(password_hash, body.password) or who is None:
        raise Unauthenticated("The name or the password is wrong.", "Try again; an admin can set a new password.")
    limits.signed_in(request, tenant, name)
    return session_of(await sessions.begin(gateway, settings, request, response, who))


class ChangePasswordBody(BaseModel):
    """One's present password, and the one from now on."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"present": "several words in a row", "password": "other words in a row"}]},  # nosec B105
    )

    present: Annotated[str, _Line]
    password: Annotated[str, StringConstraints(min_length=SHORTEST, max_length=LONGEST, pattern=r"^[^\x00]*$")]


@router.put(
    "/password", operation_id="change_own_password", summary="Change one's own password", response_model=Session
)
async def change_own_password(
    body: ChangePasswordBody, identity: Asker, request: Request, response: Response, gateway: GatewayOf
) -> dict[str, Any]:
    """All one's sessions end, and a new one begins. Whoever signs in elsewhere has no password here."""
    limits: Limits = request.app.state.limits
    passwords: PasswordCheck = request.app.state.passwords
    limits.sign_in(request, identity.tenant_key, identity.actor)
    found = await gateway.perform_unbound(lambda store: store.signing_in(identity.tenant_key, identity.actor))
    if not await passwords.fits(found[1] if found is not None else None, body.present):
        raise Forbidden("The present password is wrong.", "Try again; an admin can set a new one.")
    limits.signed_in(request, identity.tenant_key, identity.actor)
    hashed = await asyncio.to_thread(password_hash, body.password)
    changed = await gateway.perform(
        identity, lambda caller: ops.set_password_hash(caller, identity.principal.uid, hashed)
    )
    who = Proved(changed, identity.tenant_key)
    return session_of(await sessions.begin(gateway, request.app.state.settings, request, response, who))


@router.get("", operation_id="who_am_i", summary="Who am I", response_model=Session)
async def who_am_i(identity: Asker) -> dict[str, Any]:
    """The principal that the cookie or the token proves, and what it may do."""
    return session_of(identity)


@router.delete("", operation_id="sign_out", summary="Sign out", status_code=204)
async def sign_out(identity: Asker, request: Request, response: Response, gateway: GatewayOf) -> None:
    """End the session. With a bearer token: that token proves nothing any more."""
    await sessions.end(gateway, request, response, identity)


def session_of(identity: Identity) -> dict[str, Any]:
    """The identity as ``GET /session`` shows it."""
    token = identity.token
    return {
        "principal": identity.actor, "display_name": identity.principal.display_name, "tenant": identity.tenant_key,
        "roles": sorted(identity.roles), "permissions": sorted(identity.permissions),
        "kind": str(token.kind) if token is not None else None,
        "expires_at": instant(token.expires_at) if token is not None else None,
    }  # fmt: skip
