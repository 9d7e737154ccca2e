"""Whether a client reaches Tenure over HTTP, and where."""

from __future__ import annotations

import os
from typing import NoReturn

from tenure.sdk.http.address import Address, from_environment
from tenure.sdk.http.operations import NotOverHttp


class Reaching:
    """The part of both clients that knows. What is given counts first, then ``TENURE_DSN``, then ``TENURE_URL``."""

    def __init__(self, dsn: str | None, url: str | None, token: str | None) -> None:
        self._address: Address | None = Address(url, token) if url and not dsn else None
        self._decided = bool(dsn or url)

    @property
    def address(self) -> Address | None:
        """The server that it speaks to; None for one that is connected to the database."""
        if not self._decided:
            self._address = None if os.environ.get("TENURE_DSN") else from_environment()
            self._decided = True
        return self._address

    def reach_over_http(self, address: Address) -> None:
        """Speak to a server from now on. Nothing of a database is opened or started."""
        self._address, self._decided = address, True

    def reach_the_database(self) -> None:
        """Use a database from now on, whatever ``TENURE_URL`` says."""
        self._address, self._decided = None, True


def refuse(address: Address) -> NoReturn:
    """Say that something needs the database. Raises NotOverHttp."""
    raise NotOverHttp(
        f"This needs a connection to the database; this client only reaches {address.url}.",
        "Give it a DSN, or use what the client and the HTTP API offer.",
    )
