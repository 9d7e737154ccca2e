"""The session of a person: an access token in a cookie that no script can read and no other site can use."""

from __future__ import annotations

from fastapi import Request, Response

from tenure.api.authentication import COOKIE
from tenure.api.gateway import Gateway
from tenure.api.same_origin import origin_of
from tenure.api.settings import ServerSettings
from tenure.engine.authentication import identity_of
from tenure.model.principal import Identity, TokenKind
from tenure.sdk import operations as ops
from tenure.store.records import Proved


async def begin(
    gateway: Gateway, settings: ServerSettings, request: Request, response: Response, who: Proved
) -> Identity:
    """Begin a session of whoever has just proved who they are: the cookie is set on the response."""
    identity = identity_of(who)
    issued = await gateway.perform(
        identity,
        lambda caller: ops.create_token(
            caller, identity.principal.uid, kind=TokenKind.SESSION, lifetime_seconds=settings.session_ttl
        ),
    )
    response.set_cookie(
        COOKIE, issued.secret.reveal(), max_age=settings.session_ttl, path="/", httponly=True, samesite="lax",
        secure=_secure(request),
    )  # fmt: skip
    return identity_of(Proved(who.principal, who.tenant_key, issued.access_token))


async def end(gateway: Gateway, request: Request, response: Response, identity: Identity) -> None:
    """End the session, or make the token that was sent prove nothing any more."""
    token = identity.token
    if token is not None:
        await gateway.perform(identity, lambda caller: ops.revoke_token(caller, token.uid, reason="signed out"))
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax", secure=_secure(request))


def _secure(request: Request) -> bool:
    return origin_of(request).startswith("https://")
