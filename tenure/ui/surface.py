"""Puts the screens under ``/ui`` of the server's application."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from nicegui import Client, app, ui

from tenure import __version__
from tenure.api.authentication import COOKIE
from tenure.api.gateway import Gateway
from tenure.api.settings import OIDC_LOGIN
from tenure.model.errors import TenureError, Unauthenticated
from tenure.ui import places
from tenure.ui.components.sign_in import SignIn
from tenure.ui.headers import Headers
from tenure.ui.page import Page
from tenure.ui.sampler import SAMPLER
from tenure.ui.visitor import Visitor

_STATIC = Path(__file__).parent / "static"
_AWAY = (_STATIC / "away.html").read_text(encoding="utf-8")


def install(application: FastAPI) -> None:
    """Serve the screens. NiceGUI is one for each process, so the last application that was given serves them."""
    app.state.tenure = application.state
    if getattr(app.state, "tenure_installed", False):
        application.mount(places.MOUNT, app)
        return
    app.state.tenure_installed = True
    app.add_static_files(f"/static/{__version__}", _STATIC)
    app.config.quasar_config["loadingBar"] = {"skipHijack": True}  # the frame has one of its own
    app.add_middleware(Headers)
    _pages()
    ui.run_with(
        application, mount_path=places.MOUNT, title="Tenure", dark=None, language="en-US", tailwind=False,
        favicon=_STATIC / "mark.svg",
        show_welcome_message=False, binding_refresh_interval=None, reconnect_timeout=30.0, message_history_length=100,
    )  # fmt: skip


def _pages() -> None:
    @ui.page("/sign-in", title="Sign in · Tenure")
    async def sign_in(client: Client, request: Request) -> None:
        _head(client)
        after = _within(request.query_params.get("next"))
        asked = request.query_params
        SignIn(next=after, note=asked.get("note"), tenant=asked.get("tenant"), single=_single(after))

    @ui.page("/{address:path}", title="Tenure", response_timeout=20.0)
    async def screen(client: Client, request: Request) -> Any:
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        visitor = Visitor(_gateway(), request.cookies.get(COOKIE))
        try:
            await visitor.prove()
        except Unauthenticated:
            return RedirectResponse(places.sign_in(target), 303)
        except (TenureError, psycopg.OperationalError, psycopg.InterfaceError):
            return HTMLResponse(_AWAY, 503, {"Retry-After": "2"})
        SAMPLER.watch(_gateway(), visitor.identity)
        _head(client)
        await Page(client, visitor, app.state.tenure.following).start(target)
        return None


def _head(client: Client) -> None:
    where = f"{places.MOUNT}/static/{__version__}"
    # Quasar makes the whole page one main landmark; ours begins after bar and navigation.
    if (page := client.content.parent_slot) is not None:
        page.parent.props('role="none"')
    with client:
        ui.add_head_html(f'<script src="{where}/theme.js"></script><link rel="stylesheet" href="{where}/theme.css">')


def _gateway() -> Gateway:
    gateway: Gateway = app.state.tenure.gateway
    return gateway


def _single(after: str) -> dict[str, str] | None:
    provider = app.state.tenure.settings.oidc
    if provider is None:
        return None
    return {"href": f"{OIDC_LOGIN}?{urlencode({'next': after})}", "label": provider.label}


def _within(address: str | None) -> str:
    """Where to go after signing in: nowhere but to a screen of this server."""
    inside = address is not None and address.startswith(f"{places.MOUNT}/") and "\\" not in address
    return address if address is not None and inside else places.DASHBOARD
