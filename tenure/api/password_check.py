"""Checks a password in the same time whoever is asked for, known or not (argon2id)."""

from __future__ import annotations

import asyncio
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from tenure.sdk.password import LONGEST, hasher

_AT_ONCE = 2  # each takes 64 MiB and a core for a moment


class PasswordCheck:
    """Verifies passwords, few at once. For names without one it verifies against a hash that nobody has the password of."""

    def __init__(self) -> None:
        self._hasher: PasswordHasher | None = None
        self._nobody = ""
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def fits(self, password_hash: str | None, password: str) -> bool:
        """Whether the password is the one that was hashed; False for no hash, after as long."""
        async with self._room:
            return await asyncio.to_thread(self._fits, password_hash, password)

    def _fits(self, password_hash: str | None, password: str) -> bool:
        if self._hasher is None:
            self._hasher = hasher()
            self._nobody = self._hasher.hash(secrets.token_urlsafe())
        try:
            self._hasher.verify(password_hash or self._nobody, password[:LONGEST])
        except (VerificationError, InvalidHashError):
            return False
        return password_hash is not None
