"""What a server needs to know who asks, put together: limits, signing in, principals and tokens."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI

from tenure.api.limits import Limits
from tenure.api.password_check import PasswordCheck
from tenure.api.routes import principals, session, tokens
from tenure.api.settings import ServerSettings

PREFIX = "/api/v1"

_IDENTITY = APIRouter()
for _router in (session.router, principals.router, tokens.router):
    _IDENTITY.include_router(_router, prefix=PREFIX)


def install(application: FastAPI, settings: ServerSettings) -> None:
    """Add it to the server's application."""
    limits = application.state.limits = Limits(settings)
    application.state.passwords = PasswordCheck()
    application.router.routes.extend(_IDENTITY.routes)
    if settings.oidc is not None:
        from tenure.api import oidc  # noqa: PLC0415 - Authlib takes its time to import, and few servers need it

        single = oidc.application(settings, settings.oidc, application.state.gateway, limits)
        application.mount(oidc.MOUNT, single)
