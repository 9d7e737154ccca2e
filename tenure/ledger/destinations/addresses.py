"""Which addresses a webhook may be at, checked where the connection is made (design 07, Security).

The name is resolved once, every address it gives is checked, and one of these is connected to: so a name that resolves
otherwise a moment later changes nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import typing
from collections.abc import Awaitable, Callable, Iterable

import httpcore

Resolve = Callable[[str, int], Awaitable[list[str]]]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class ForbiddenAddress(httpcore.ConnectError):
    """A name resolves to an address that a webhook may not be at."""


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, in the system's order."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def permitted(address: str, *, allow_private: bool) -> bool:
    """Whether a webhook may be at an address. Link-local and multicast ones never are: there the machine's own keys lie."""
    try:
        found = _meant(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return False
    if found.is_link_local or found.is_multicast or found.is_unspecified:
        return False
    return found.is_global or (allow_private and (found.is_private or found.is_loopback))


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, else itself."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.sixtofour is not None:
            return address.sixtofour
        if address.teredo is not None:
            return address.teredo[1]
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Opens connections to permitted addresses only."""

    def __init__(self, *, allow_private: bool, resolve: Resolve = resolve) -> None:
        self._allow_private = allow_private
        self._resolve = resolve
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,  # noqa: ASYNC109 - httpcore's
        socket_options: Iterable[typing.Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:  # fmt: skip
        """See ``httpcore.AsyncNetworkBackend``. Raises ForbiddenAddress before anything is sent."""
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:  # there is no such host, or such a name is none
            raise httpcore.ConnectError(str(error)) from error
        if not addresses or not all(permitted(each, allow_private=self._allow_private) for each in addresses):
            raise ForbiddenAddress("the name resolves to an address that is not public")
        failed: httpcore.ConnectError | None = None
        for address in addresses:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore.ConnectError as error:
                failed = error
        assert failed is not None
        raise failed

    async def sleep(self, seconds: float) -> None:
        """See ``httpcore.AsyncNetworkBackend``."""
        await asyncio.sleep(seconds)
