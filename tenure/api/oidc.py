"""Signing in through an OpenID Connect provider, by Authlib (design 06, HTTP API).

The authorization code flow with state, nonce and PKCE. What has to be remembered until the person comes back is in a
signed cookie of ten minutes that only these two addresses get. A principal is found by issuer and subject, never by a
name or a mail address, which a provider may give to somebody else one day.
"""

from __future__ import annotations

import hashlib
import logging
import re
import warnings
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from starlette.middleware.sessions import SessionMiddleware

from tenure.api import problem, sessions
from tenure.api.gateway import Gateway
from tenure.api.limits import Limits
from tenure.api.same_origin import origin_of
from tenure.api.settings import OIDC_LOGIN, OidcProvider, ServerSettings
from tenure.model.errors import AlreadyExists, TenureError, Unauthenticated
from tenure.model.principal import Identity, Principal, PrincipalStatus
from tenure.sdk import operations as ops
from tenure.store.records import Proved

with warnings.catch_warnings():
    # It tells of what it will need one day, which is nothing that whoever starts a server can act on.
    warnings.simplefilter("ignore")
    from authlib.integrations.starlette_client import OAuth  # type: ignore[import-untyped]

MOUNT = OIDC_LOGIN.rpartition("/")[0]
_log = logging.getLogger("tenure.api")
_REMEMBERED = 600
_HOME = "/ui"
_ODD = re.compile(r"[^A-Za-z0-9_.@+-]+")


def application(settings: ServerSettings, provider: OidcProvider, gateway: Gateway, limits: Limits) -> FastAPI:
    """The two addresses, as an application to be mounted at ``MOUNT``."""
    client = _client_of(provider)
    made = FastAPI(title="Tenure: single sign-on", openapi_url=None)
    made.state.settings = settings
    problem.install(made)
    made.add_middleware(
        SessionMiddleware, secret_key=_key_of(provider), session_cookie="tenure_oidc", max_age=_REMEMBERED, path=MOUNT,
        same_site="lax", https_only=bool(settings.public_url and settings.public_url.startswith("https://")),
    )  # fmt: skip

    @made.get("/login")
    async def login(request: Request, next: str = _HOME) -> Response:  # noqa: A002 - a parameter of the address
        """To the provider."""
        limits.request(request, None)
        request.session.clear()
        request.session["next"] = within(next)
        try:
            redirect: Response = await client.authorize_redirect(request, f"{origin_of(request)}{MOUNT}/callback")
        except Exception as error:  # whatever a provider does must not become our failure
            return _back(settings, _trouble(error))
        return redirect

    @made.get("/callback")
    async def callback(request: Request) -> Response:
        """Back from it."""
        limits.request(request, None)
        target = within(str(request.session.get("next", _HOME)))
        try:
            claims = await _claims(client, request)
            who = await principal_of(gateway, settings, provider, claims)
        except TenureError as error:
            return _back(settings, error)
        finally:
            request.session.clear()
        response = RedirectResponse(target, 303)
        await sessions.begin(gateway, settings, request, response, who)
        return response

    return made


async def principal_of(
    gateway: Gateway, settings: ServerSettings, provider: OidcProvider, claims: dict[str, Any]
) -> Proved:
    """The principal that the provider's claims mean; made on first sign-in where that is configured, to look and no more.

    Raises Unauthenticated where there is none, or where it is disabled.
    """
    issuer, subject = str(claims["iss"]), str(claims["sub"])
    found = await gateway.perform_unbound(lambda store: store.signed_in_elsewhere(settings.tenant, issuer, subject))
    if found is not None and found[1] is not None:
        known = found[1]
        if known.principal.status is not PrincipalStatus.ACTIVE:
            raise _nobody()
        return known
    if found is None or not provider.create_principals:
        raise _nobody()
    doorkeeper = Identity(Principal(uid=0, tenant=found[0], name="service:sign-in"), settings.tenant, frozenset())
    name = _ODD.sub("-", str(claims.get("preferred_username") or claims.get("email") or "")).strip("-._@+")[:150]
    outside = hashlib.sha256(f"{issuer}\0{subject}".encode()).hexdigest()[:8]
    names = [f"user:{name}", f"user:{name}-{outside}"] if name else [f"user:{outside}"]
    for each in names:
        try:
            made = await gateway.perform(
                doorkeeper,
                lambda caller, each=each: ops.create_principal(  # type: ignore[misc]
                    caller, each, roles=["observer"], display_name=_shown(claims), oidc_issuer=issuer,
                    oidc_subject=subject, reason="signed in for the first time",
                ),
            )  # fmt: skip
        except AlreadyExists:
            continue
        return Proved(made, settings.tenant)
    raise _nobody()


async def _claims(client: Any, request: Request) -> dict[str, Any]:
    try:
        answer = await client.authorize_access_token(request)
    except Exception as error:  # whatever a provider sends must not become our failure
        raise _trouble(error) from error
    claims = answer.get("userinfo")
    if not claims or not claims.get("sub") or not claims.get("iss"):
        raise _trouble(ValueError("the provider sent no ID token"))
    return dict(claims)


def within(address: str) -> str:
    """The address where it is a page of this server, else where people begin."""
    inside = address.startswith("/") and not address.startswith("//") and "\\" not in address and address.isprintable()
    return address if inside else _HOME


def _client_of(provider: OidcProvider) -> Any:
    registry = OAuth()
    return registry.register(
        "provider", client_id=provider.client_id, client_secret=provider.client_secret,
        server_metadata_url=f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={"scope": provider.scope, "code_challenge_method": "S256", "timeout": 10.0},
    )  # fmt: skip


def _key_of(provider: OidcProvider) -> str:
    """The same in every process of a server, and known to nobody else."""
    return hashlib.sha256(b"tenure: state of signing in\0" + provider.client_secret.encode()).hexdigest()


def _shown(claims: dict[str, Any]) -> str:
    return "".join(each for each in str(claims.get("name") or "") if each.isprintable())[:200]


def _trouble(error: Exception) -> Unauthenticated:
    _log.warning("Signing in through the OpenID Connect provider failed: %s: %s", type(error).__name__, error)
    return Unauthenticated("Signing in did not succeed.", "Try again from the start; if it stays, ask an admin.")


def _nobody() -> Unauthenticated:
    return Unauthenticated("You have no access here.", "Ask an admin to give you some.")


def _back(settings: ServerSettings, error: TenureError) -> Response:
    """To where people sign in, with what went wrong; without pages, a problem."""
    if settings.ui:
        return RedirectResponse(f"{_HOME}/sign-in?note={quote(f'{error.message} {error.hint}')}", 303)
    return problem.refused(error)
