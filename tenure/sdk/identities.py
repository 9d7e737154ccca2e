"""What a client can do with principals and access tokens, written once as operations (design 01, Identity)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tenure.engine.actions import access_tokens, principals
from tenure.engine.caller import Caller
from tenure.model.principal import (
    AccessToken,
    AccessTokenSpec,
    Principal,
    PrincipalChange,
    PrincipalSpec,
    PrincipalStatus,
)
from tenure.model.requests import validated
from tenure.sdk.password import password_hash
from tenure.sdk.references import PrincipalRef, TokenRef, access_token_uid, uid_of
from tenure.sdk.token import Token
from tenure.store.operation import Op


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new access token with its secret, which is shown this once: only its SHA-256 is kept."""

    access_token: AccessToken
    secret: Token


def create_principal(caller: Caller, /, name: str, **spec: Any) -> Op[Principal]:
    """Create a principal, such as ``user:ada``, with its roles; the same again changes nothing."""
    return principals.create_principal(caller, validated(PrincipalSpec, name=name, **spec))


def change_principal(caller: Caller, /, principal: PrincipalRef, **changes: Any) -> Op[Principal]:
    """Change a principal's roles, display name, status or outside identity."""
    change = validated(PrincipalChange, **changes)
    return (yield from principals.change_principal(caller, (yield from _principal_uid(caller, principal)), change))


def disable_principal(caller: Caller, /, principal: PrincipalRef, *, reason: str | None = None) -> Op[Principal]:
    """Let a principal do nothing any more: its tokens prove nothing, its sessions end."""
    return change_principal(caller, principal, status=PrincipalStatus.DISABLED, reason=reason)


def enable_principal(caller: Caller, /, principal: PrincipalRef, *, reason: str | None = None) -> Op[Principal]:
    """Undo disabling: tokens that have not run out prove it again."""
    return change_principal(caller, principal, status=PrincipalStatus.ACTIVE, reason=reason)


def set_password(caller: Caller, /, principal: PrincipalRef, password: str) -> Op[Principal]:
    """Set the password that a person signs in with; kept as argon2id hash. Its sessions end."""
    return set_password_hash(caller, principal, password_hash(password))


def set_password_hash(caller: Caller, /, principal: PrincipalRef, hashed: str) -> Op[Principal]:
    """The same with a password that was hashed before (argon2id), elsewhere or beside the event loop."""
    return (yield from principals.set_password(caller, (yield from _principal_uid(caller, principal)), hashed))


def principal(caller: Caller, /, principal: PrincipalRef) -> Op[Principal]:
    """One principal, by name or EUID."""
    return (yield from principals.known(caller, (yield from _principal_uid(caller, principal))))


def principals_all(caller: Caller, /, *, limit: int = 1000, after: str = "") -> Op[list[Principal]]:
    """Principals in order of their names, from one on."""
    return caller.store.principals(caller.tenant, limit, after)


def create_token(caller: Caller, /, principal: PrincipalRef, **spec: Any) -> Op[IssuedToken]:
    """Create an access token for a principal. Its secret is in the answer and nowhere else."""
    asked = validated(AccessTokenSpec, **spec)
    uid = yield from _principal_uid(caller, principal)
    secret = Token.access()
    return IssuedToken((yield from access_tokens.create_token(caller, uid, asked, secret.digest)), secret)


def revoke_token(caller: Caller, /, token: TokenRef, *, reason: str | None = None) -> Op[AccessToken]:
    """Make a token prove nothing any more."""
    return access_tokens.revoke_token(caller, access_token_uid(token), reason)


def tokens(
    caller: Caller, /, principal: PrincipalRef | None = None, *, usable: bool = True, limit: int = 100,
    before: int | None = None,
) -> Op[list[AccessToken]]:  # fmt: skip
    """Access tokens, newest first: those that still prove something, or all."""
    uid = (yield from _principal_uid(caller, principal)) if principal is not None else None
    return (yield from caller.store.access_tokens(caller.tenant, limit, principal=uid, usable=usable, before=before))


def _principal_uid(caller: Caller, reference: PrincipalRef) -> Op[int]:
    if isinstance(reference, Principal):
        return reference.uid
    if isinstance(reference, str) and ":" in reference:
        return (yield from principals.named(caller, reference)).uid
    return uid_of(reference)
