"""Where a server is, and what proves who asks. The token is never part of a repr, a log line or a command line."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from urllib.parse import urlsplit

from tenure.model.errors import InvalidRequest, Unauthenticated

_log = logging.getLogger("tenure.http")
PREFIX = "/api/v1/execution"
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


class Address:
    """A server and a credential for it.

    ``url`` is where the server answers, without the path of the API. The token is ``token``, or the content of
    ``token_file``, which is read again when the server refuses it, so that it can be replaced under way.
    Raises InvalidRequest for what is no URL, Unauthenticated where there is no token.
    """

    def __init__(self, url: str, token: str | None = None, token_file: str | Path | None = None) -> None:
        parts = urlsplit(url.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidRequest(f"{url!r} is not the URL of a server.", "Give one like https://tenure.example.org.")
        if parts.username or parts.password:
            raise InvalidRequest("The URL carries a user or a password.", "Leave them out; give a token in a file.")
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix(PREFIX)}"
        self._file = Path(token_file) if token_file is not None else None
        self._token = token.strip() if token else self._read()
        if not self._token:
            raise Unauthenticated(
                "There is no token for the server.", "Give --token-file FILE, or set TENURE_TOKEN; an admin makes one."
            )
        if not self._token.isascii() or not self._token.isprintable() or " " in self._token:
            raise Unauthenticated("The token is none: it has spaces or odd characters.", "Copy it again.")
        if parts.scheme == "http" and parts.hostname not in _LOCAL:
            _log.warning("%s is not encrypted: whoever listens on the way can read the token.", self.url)

    def _read(self) -> str:
        if self._file is None:
            return ""
        try:
            return self._file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Unauthenticated(
                f"The token file {self._file} cannot be read: {error.__class__.__name__}.",
                "Check its path and its mode.",
            ) from None

    @property
    def authorization(self) -> str:
        """The value of the Authorization header."""
        return f"Bearer {self._token}"

    def renewed(self) -> bool:
        """Read the file again; True where it holds another token now."""
        try:
            token = self._read()
        except Unauthenticated:
            return False
        changed = bool(token) and token != self._token
        if changed:
            self._token = token
        return changed

    def __repr__(self) -> str:
        return f"Address({self.url!r})"


def from_environment() -> Address | None:
    """The server of ``TENURE_URL`` with the token of ``TENURE_TOKEN`` or ``TENURE_TOKEN_FILE``; None where it is not set."""
    url = os.environ.get("TENURE_URL")
    if not url:
        return None
    return Address(url, os.environ.get("TENURE_TOKEN"), os.environ.get("TENURE_TOKEN_FILE"))
