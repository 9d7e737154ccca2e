"""Sends calls to a server from a loop, over connections that are kept."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from typing import TypeVar

import httpx

from tenure.model.errors import RateLimited, StoreUnavailable, Unauthenticated
from tenure.sdk.http.address import Address
from tenure.sdk.http.call import Call
from tenure.sdk.http.problem import seconds_to_wait

T = TypeVar("T")
_log = logging.getLogger("tenure.http")
_FIRST_DELAY, _LAST_DELAY = 0.1, 5.0
_ANSWER, _CONNECT = 30.0, 10.0
_KEPT = 4
_PATIENCE = 30.0


class AsyncLine:
    """``attempt`` sends once and raises StoreUnavailable where no answer came, ``perform`` for a while.

    Both wait as long as the server asks where it has too much to do.
    """

    def __init__(self, address: Address, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.address = address
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(_ANSWER, connect=_CONNECT, pool=None), transport=transport,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=_KEPT, keepalive_expiry=30.0),
        )  # fmt: skip

    async def attempt(self, call: Call[T]) -> T:
        """The answer to a call that is sent once."""
        while True:
            response = await self._send(call)
            try:
                return call.answer(response.status_code, response.content)
            except RateLimited as error:
                await asyncio.sleep(seconds_to_wait(error, response.headers.get("retry-after")) or 1.0)
            except Unauthenticated:
                if not self.address.renewed():
                    raise

    async def perform(self, call: Call[T], patience: float = _PATIENCE) -> T:
        """The answer to a call that is sent again and again for ``patience`` seconds."""
        delay, end = _FIRST_DELAY, time.monotonic() + patience
        while True:
            try:
                return await self.attempt(call)
            except StoreUnavailable as error:
                # Many clients lost the same server: they do not come back all at once.
                pause = delay * random.uniform(0.5, 1.0)  # noqa: S311  # nosec B311
                if time.monotonic() + pause > end:
                    raise
                _log.warning("%s: %s Trying again in %.1f s.", call.path, error.message, pause)
                await asyncio.sleep(pause)
                delay = min(delay * 2, _LAST_DELAY)

    async def _send(self, call: Call[T]) -> httpx.Response:
        timeout = httpx.Timeout(_ANSWER + call.wait, connect=_CONNECT, pool=None)
        try:
            return await self._client.request(
                call.method, call.url(self.address), headers=call.headers(self.address), content=call.content(),
                params=dict(call.params), timeout=timeout,
            )  # fmt: skip
        except (httpx.TransportError, OSError) as error:
            raise no_answer(self.address, error) from error

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def no_answer(address: Address, error: Exception) -> StoreUnavailable:
    """What to tell of a server that did not answer."""
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    return StoreUnavailable(f"{address.url} did not answer ({said}).", "See that the server runs and can be reached.")
