"""What a browser sends along by itself is no proof that the person meant it: cookies need a request from our own pages."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import Request

from tenure.api.settings import ServerSettings
from tenure.model.errors import Forbidden

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class CrossSite(Forbidden):
    """A request that would change something came from a browser, and not from a page of this server."""

    code = "cross_site"


def origin_of(request: Request) -> str:
    """Scheme, host and port under which browsers reach this server: the configured ones, else those of the request."""
    settings: ServerSettings = request.app.state.settings
    if settings.public_url:
        parts = urlsplit(settings.public_url)
        return f"{parts.scheme}://{parts.netloc}".lower()
    return f"{request.url.scheme}://{request.headers.get('host', request.url.netloc)}".lower()


def require_same_origin(request: Request) -> None:
    """Raises CrossSite unless the request changes nothing, or its browser says that a page of this server sent it."""
    if request.method not in _SAFE and not _says_so(request, otherwise=False):
        raise _refusal()


def refuse_cross_site(request: Request) -> None:
    """Raises CrossSite where a browser says that a page of another site sent the request: for signing in, without cookie."""
    if not _says_so(request, otherwise=True):
        raise _refusal()


def _says_so(request: Request, *, otherwise: bool) -> bool:
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        return site == "same-origin"
    return origin.lower() == origin_of(request) if origin is not None else otherwise


def _refusal() -> CrossSite:
    return CrossSite(
        "The request comes from outside of this server's pages.",
        "Programs send Authorization: Bearer TOKEN instead. Behind a proxy, set the server's public URL.",
    )
