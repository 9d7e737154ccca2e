"""Who asks: the bearer token of a program or the session cookie of a person, looked up for every request."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from tenure.api.gateway import Gateway
from tenure.api.limits import Limits
from tenure.api.same_origin import require_same_origin
from tenure.api.telling import note_identity
from tenure.engine.authentication import authenticate
from tenure.model.errors import Unauthenticated
from tenure.model.principal import Identity
from tenure.model.roles import Permission
from tenure.sdk.token import digest_of

COOKIE = "tenure_session"
_bearer = HTTPBearer(auto_error=False, description="An access token: tenure token create")
_cookie = APIKeyCookie(name=COOKIE, auto_error=False, description="The session of a person who has signed in at /ui")


def gateway_of(request: Request) -> Gateway:
    """The server's gateway."""
    gateway: Gateway = request.app.state.gateway
    return gateway


async def identity_of(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    cookie: Annotated[str | None, Security(_cookie)],
) -> Identity:
    """The identity behind the request's credential. Raises Unauthenticated, RateLimited, CrossSite."""
    limits: Limits = request.app.state.limits
    secret = bearer.credentials if bearer is not None else cookie
    if not secret:
        limits.request(request, None)
        raise Unauthenticated(
            "The request does not say who asks.", "Send Authorization: Bearer TOKEN; tenure token create makes one."
        )
    if bearer is None:
        require_same_origin(request)
    digest = digest_of(secret)
    limits.request(request, digest)
    try:
        identity = await gateway_of(request).perform_unbound(lambda store: authenticate(store, digest))
    except Unauthenticated:
        limits.disproved(digest)
        raise
    limits.proved(digest)
    note_identity(request.scope, identity)
    return identity


async def still_proved(request: Request) -> None:
    """Ask again for a request that has waited: its credential may have been revoked meanwhile. Raises Unauthenticated."""
    given = request.headers.get("authorization", "")
    scheme, _, bearer = given.partition(" ")
    secret = bearer.strip() if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")
    await gateway_of(request).perform_unbound(lambda store: authenticate(store, digest_of(secret)))


Asker = Annotated[Identity, Depends(identity_of)]
"""Whoever proves who they are, whatever they may do."""


def requires(permission: Permission) -> Callable[..., Coroutine[Any, Any, Identity]]:
    """A dependency: the identity that asks, which has the permission. Raises Unauthenticated or Forbidden."""

    async def permitted(identity: Asker) -> Identity:
        identity.demand(permission)
        return identity

    permitted.permission = permission  # type: ignore[attr-defined]
    return permitted


Observer = Annotated[Identity, Depends(requires(Permission.READ))]
Submitter = Annotated[Identity, Depends(requires(Permission.SUBMIT))]
NodeIdentity = Annotated[Identity, Depends(requires(Permission.EXECUTE))]
WorkerIdentity = Annotated[Identity, Depends(requires(Permission.WORK))]
Operator = Annotated[Identity, Depends(requires(Permission.OPERATE))]
Admin = Annotated[Identity, Depends(requires(Permission.ADMINISTER))]
GatewayOf = Annotated[Gateway, Depends(gateway_of)]
