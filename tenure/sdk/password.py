"""Passwords of people: argon2id, with the parameters that argon2-cffi recommends (RFC 9106, low memory)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenure.model.errors import InvalidRequest, NotInstalled

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST = 12
LONGEST = 1000


def password_hash(password: str) -> str:
    """The argon2id hash of a new password. Raises InvalidRequest where it is too short, NotInstalled without argon2-cffi."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidRequest(
            f"A password has {SHORTEST} to {LONGEST} characters.", "Several words in a row are easy to keep in mind."
        )
    return hasher().hash(password)


def hasher() -> PasswordHasher:
    """The hasher. Raises NotInstalled without argon2-cffi, which comes with the extra ``server``."""
    try:
        from argon2 import PasswordHasher, profiles  # noqa: PLC0415 - only servers have it
    except ImportError as error:
        raise NotInstalled("Passwords need argon2-cffi.", "Install it: pip install 'tenure[server]'.") from error
    return PasswordHasher.from_parameters(profiles.RFC_9106_LOW_MEMORY)
