"""How often a credential or an address may come, and how often somebody may guess (design 06, HTTP API: 429, Retry-After).

Each process of a server counts for itself. Requests are counted by credential once it has proved somebody, and by address
as long as it has not, so that guessing is slow from any one place and one guesser does not slow down the others.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Hashable

from fastapi import Request

from tenure.api.rates import Buckets
from tenure.api.settings import ServerSettings
from tenure.model.errors import RateLimited

_REMEMBERED = 50_000


class Limits:
    """The limits of one server."""

    def __init__(self, settings: ServerSettings) -> None:
        clock = settings.clock
        now = time.monotonic if clock is None else lambda: clock().timestamp()
        self._credentials = Buckets(settings.rate_per_second, settings.rate_burst, now)
        self._addresses = Buckets(settings.anonymous_per_second, settings.anonymous_burst, now)
        self._names = Buckets(settings.sign_in_per_minute / 60, settings.sign_in_burst, now)
        self._places = Buckets(settings.sign_in_per_minute / 60, settings.sign_in_burst * 4, now)
        self._proven: OrderedDict[bytes, None] = OrderedDict()

    def request(self, request: Request, digest: bytes | None) -> None:
        """Count a request with this credential, or with none. Raises RateLimited."""
        if digest is not None and digest in self._proven:
            _take(self._credentials, digest, "This credential has sent")
        else:
            _take(
                self._addresses, address_of(request), "Without a credential that proves somebody, your address has sent"
            )

    def proved(self, digest: bytes) -> None:
        """From now on the credential counts for itself."""
        self._proven[digest] = None
        self._proven.move_to_end(digest)
        if len(self._proven) > _REMEMBERED:
            self._proven.popitem(last=False)

    def disproved(self, digest: bytes) -> None:
        """The credential proves nobody any more."""
        self._proven.pop(digest, None)

    def sign_in(self, request: Request, tenant: str, name: str) -> None:
        """Count an attempt to sign in, as a failed one until ``signed_in``. Raises RateLimited."""
        _take(self._places, address_of(request), "From your address there were")
        _take(self._names, (tenant, name), "For this name there were")

    def signed_in(self, request: Request, tenant: str, name: str) -> None:
        """The attempt did not fail."""
        self._places.give_back(address_of(request))
        self._names.give_back((tenant, name))


def address_of(request: Request) -> str:
    """The address that asks; of IPv6 the network, of which everybody has one. Behind a proxy: what uvicorn was told to trust."""
    host = request.client.host if request.client is not None else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else host


def _take(buckets: Buckets, key: Hashable, who: str) -> None:
    wait = buckets.take(key)
    if wait > 0:
        raise RateLimited(
            f"{who} too many requests in a short time.", f"Wait {max(1, round(wait + 0.5))} s and send it again.",
            retry_after=round(wait, 3),
        )  # fmt: skip
