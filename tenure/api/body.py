"""JSON bodies, read strictly: what is no JSON, or no JSON of ours, is refused before anything is looked at."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json

from tenure.model.errors import InvalidRequest, TenureError


class UnsupportedMediaType(TenureError):
    """The body is said to be something else than what the route takes."""

    code = "unsupported_media_type"
    status = 415


def parsed_json(body: bytes | str, what: str = "The body") -> Any:
    """The value. ``InvalidRequest`` for broken JSON, NaN, infinities, lone surrogates, and nesting beyond 200 levels."""
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidRequest(
            f"{what} cannot be read as JSON: {error}.", "Send one JSON document in UTF-8; nothing was changed."
        ) from None


def demand_media_type(request: Request, *accepted: str) -> None:
    """``UnsupportedMediaType`` where the request does not say one of these."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in accepted:
        raise UnsupportedMediaType(
            f"The body is {given or 'not said to be anything'}.", f"Send Content-Type: {accepted[0]}."
        )


class _StrictRequest(Request):
    async def json(self) -> Any:
        """The body, read strictly."""
        if not hasattr(self, "_json"):
            self._json = parsed_json(await self.body())
        return self._json


class JsonRoute(APIRoute):
    """A route whose body, where it has one, is JSON read by ``parsed_json``."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of FastAPI behind the stricter reader."""
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def handle_strictly(request: Request) -> Response:
            strict = _StrictRequest(request.scope, request.receive)
            demand_media_type(strict, "application/json")
            await strict.json()  # here, where an error is still told as it is
            return await handle(strict)

        return handle_strictly
