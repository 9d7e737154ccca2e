"""create_token, revoke_token: the credentials of principals. Only their SHA-256 comes here (design 06, HTTP API)."""

from __future__ import annotations

from typing import Any

from tenure.engine.caller import Caller
from tenure.engine.logging import told
from tenure.model.decisions.principals import decide_revoke, decide_token
from tenure.model.errors import NotFound
from tenure.model.principal import AccessToken, AccessTokenSpec, Principal, TokenKind
from tenure.store.operation import Op

_PAGE = 200


def create_token(caller: Caller, principal: int, spec: AccessTokenSpec, digest: bytes) -> Op[AccessToken]:
    """A new access token of the principal, known by the SHA-256 of its secret."""
    op = caller.store.transaction(_create(caller, principal, spec, digest))
    return told(caller, "create_token", op, _describe, principal=principal)


def _create(caller: Caller, uid: int, spec: AccessTokenSpec, digest: bytes) -> Op[AccessToken]:
    principal = yield from caller.store.principal(caller.tenant, uid=uid, lock=True)
    if principal is None:
        raise NotFound("There is no such principal.", "Create it first: tenure principal create.")
    now = yield from caller.store.clock()
    fresh = (yield from caller.store.fresh_uids(1))[0]
    _, head = yield from caller.store.head(uid)
    _, token, fact = decide_token(principal, spec, fresh, now, caller.actor, head)
    yield from caller.store.insert_access_token(token, digest, fact)
    return token


def revoke_token(caller: Caller, token: int, reason: str | None = None) -> Op[AccessToken]:
    """The token, which proves nothing from now on. Revoking it again changes nothing."""
    return told(caller, "revoke_token", caller.store.transaction(_revoke(caller, token, reason)), _describe)


def _describe(token: AccessToken) -> dict[str, Any]:
    return {"principal": token.principal, "terminal_status": "REVOKED" if token.revoked_at is not None else "USABLE"}


def _revoke(caller: Caller, uid: int, reason: str | None) -> Op[AccessToken]:
    token = yield from caller.store.access_token(caller.tenant, uid)
    principal = None
    if token is not None:
        principal = yield from caller.store.principal(caller.tenant, uid=token.principal, lock=True)
        # Read again under the lock, which whoever revokes it holds.
        token = yield from caller.store.access_token(caller.tenant, uid)
    if token is None or principal is None:
        raise NotFound("There is no such token.", "See tenure token list, or GET /api/v1/tokens.")
    if token.revoked_at is not None:
        return token
    return (yield from _end(caller, principal, token, reason))


def revoke_all(caller: Caller, principal: Principal, kind: TokenKind, reason: str) -> Op[int]:
    """Revoke every usable token of that kind, within the caller's transaction and lock; how many."""
    ended, before = 0, None
    while found := (
        yield from caller.store.access_tokens(caller.tenant, _PAGE, principal=principal.uid, before=before)
    ):
        before = found[-1].uid
        for token in found:
            if token.kind is kind:
                seq, _ = yield from caller.store.head(principal.uid)
                yield from _end(caller, principal.model_copy(update={"seq": seq}), token, reason)
                ended += 1
    return ended


def _end(caller: Caller, principal: Principal, token: AccessToken, reason: str | None) -> Op[AccessToken]:
    now = yield from caller.store.clock()
    _, head = yield from caller.store.head(principal.uid)
    _, revoked, fact = decide_revoke(principal, token, reason, now, caller.actor, head)
    yield from caller.store.revoke_access_token(revoked, fact)
    return revoked
