"""Sends calls to a server from threads; what no answer came to is sent again for half a minute."""

from __future__ import annotations

import random
import time
from typing import TypeVar

import httpx

from tenure.model.errors import RateLimited, StoreUnavailable, Unauthenticated
from tenure.sdk.http.address import Address
from tenure.sdk.http.async_line import no_answer
from tenure.sdk.http.call import Call
from tenure.sdk.http.problem import seconds_to_wait

T = TypeVar("T")
_ANSWER, _CONNECT = 30.0, 10.0
_PATIENCE = 30.0
_FIRST_DELAY, _LAST_DELAY = 0.1, 5.0


class Line:
    """The sync one. Threads may share it."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._client = httpx.Client(timeout=httpx.Timeout(_ANSWER, connect=_CONNECT, pool=None))

    def perform(self, call: Call[T]) -> T:
        """The answer. Raises StoreUnavailable or RateLimited where there is none for half a minute."""
        delay, end = _FIRST_DELAY, time.monotonic() + _PATIENCE
        while True:
            pause = delay * random.uniform(0.5, 1.0)  # noqa: S311  # nosec B311
            try:
                response = self._send(call)
                try:
                    return call.answer(response.status_code, response.content)
                except RateLimited as error:
                    pause = seconds_to_wait(error, response.headers.get("retry-after")) or 1.0
                    if time.monotonic() + pause > end:
                        raise
                except Unauthenticated:
                    if not self.address.renewed():
                        raise
                    pause = 0.0
            except StoreUnavailable:
                if time.monotonic() + pause > end:
                    raise
            time.sleep(pause)
            delay = min(delay * 2, _LAST_DELAY)

    def _send(self, call: Call[T]) -> httpx.Response:
        try:
            return self._client.request(
                call.method, call.url(self.address), headers=call.headers(self.address), content=call.content(),
                params=dict(call.params),
            )  # fmt: skip
        except (httpx.TransportError, OSError) as error:
            raise no_answer(self.address, error) from error

    def close(self) -> None:
        """Close all connections."""
        self._client.close()
