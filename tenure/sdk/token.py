"""Secrets of leases and of access tokens: the holder keeps the raw one, everybody else its SHA-256 (design 01, Fencing)."""

from __future__ import annotations

import hashlib
import secrets


class Token:
    """A secret that proves who holds a lease, or who asks. Its text is never part of its repr."""

    __slots__ = ("_raw", "digest")

    def __init__(self, raw: str | None = None) -> None:
        self._raw = raw if raw is not None else secrets.token_urlsafe(32)
        self.digest = hashlib.sha256(self._raw.encode()).digest()

    @classmethod
    def access(cls) -> Token:
        """A fresh secret of an access token. Its beginning tells people, and scanners of leaked secrets, what it is."""
        return cls(f"tenure_{secrets.token_urlsafe(32)}")

    def reveal(self) -> str:
        """The raw token, for handing it to the holder."""
        return self._raw

    def __repr__(self) -> str:
        return "Token(...)"


def digest_of(token: Token | str) -> bytes:
    """The SHA-256 by which a token is known."""
    return token.digest if isinstance(token, Token) else hashlib.sha256(token.encode()).digest()
