"""create_principal, change_principal, set_password: who may act, and as what (design 06, HTTP API; S1 section 10.4)."""

from __future__ import annotations

from typing import Any

from tenure.engine.actions.access_tokens import revoke_all
from tenure.engine.caller import Caller
from tenure.engine.logging import told
from tenure.model.decisions.principals import decide_change, decide_create, decide_password
from tenure.model.errors import AlreadyExists, NotFound
from tenure.model.principal import Principal, PrincipalChange, PrincipalSpec, PrincipalStatus, TokenKind
from tenure.store.operation import Op


def create_principal(caller: Caller, spec: PrincipalSpec) -> Op[Principal]:
    """A new principal. The same again changes nothing; ``AlreadyExists`` where the name is taken and it differs."""
    return told(caller, "create_principal", caller.store.transaction(_create(caller, spec)), _describe)


def _describe(principal: Principal) -> dict[str, Any]:
    return {"principal": principal.uid, "terminal_status": principal.status, "seq": principal.seq}


def _create(caller: Caller, spec: PrincipalSpec) -> Op[Principal]:
    known = yield from caller.store.principal(caller.tenant, name=spec.name)
    if known is not None:
        if all(getattr(known, name) == value for name, value in spec.model_dump(exclude={"reason"}).items()):
            return known
        raise AlreadyExists(f"There is a principal {spec.name} already.", "Change it: tenure principal roles.")
    uid = (yield from caller.store.fresh_uids(1))[0]
    now = yield from caller.store.clock()
    principal, fact = decide_create(spec, uid, caller.tenant, now, caller.actor)
    yield from caller.store.write_principal(principal, fact, new=True)
    return principal


def change_principal(caller: Caller, uid: int, change: PrincipalChange) -> Op[Principal]:
    """The principal after the change. One that is disabled proves nothing from now on, nor do its tokens."""
    op = caller.store.transaction(_change(caller, uid, change))
    return told(caller, "change_principal", op, _describe, principal=uid)


def _change(caller: Caller, uid: int, change: PrincipalChange) -> Op[Principal]:
    principal = yield from locked(caller, uid)
    now = yield from caller.store.clock()
    _, head = yield from caller.store.head(principal.uid)
    decided = decide_change(principal, change, now, caller.actor, head)
    if decided is None:
        return principal
    changed, fact = decided
    yield from caller.store.write_principal(changed, fact, new=False)
    if changed.status is PrincipalStatus.DISABLED:
        yield from revoke_all(caller, changed, TokenKind.SESSION, "disabled")
        return (yield from known(caller, uid))
    return changed


def set_password(caller: Caller, uid: int, password_hash: str) -> Op[Principal]:
    """The principal with another password, of which only the hash (argon2id) comes here. Its sessions end."""
    op = caller.store.transaction(_set_password(caller, uid, password_hash))
    return told(caller, "set_password", op, _describe, principal=uid)


def _set_password(caller: Caller, uid: int, password_hash: str) -> Op[Principal]:
    principal = yield from locked(caller, uid)
    now = yield from caller.store.clock()
    _, head = yield from caller.store.head(uid)
    changed, fact = decide_password(principal, now, caller.actor, head)
    yield from caller.store.write_password(changed, fact, password_hash)
    yield from revoke_all(caller, changed, TokenKind.SESSION, "password changed")
    return (yield from known(caller, uid))


def known(caller: Caller, uid: int) -> Op[Principal]:
    """The principal; ``NotFound`` where the tenant has none of that uid."""
    return _there((yield from caller.store.principal(caller.tenant, uid=uid)))


def named(caller: Caller, name: str) -> Op[Principal]:
    """The principal of that name; ``NotFound`` where there is none."""
    return _there((yield from caller.store.principal(caller.tenant, name=name)))


def locked(caller: Caller, uid: int) -> Op[Principal]:
    """The same, locked until the transaction ends."""
    return _there((yield from caller.store.principal(caller.tenant, uid=uid, lock=True)))


def _there(principal: Principal | None) -> Principal:
    if principal is None:
        raise NotFound("There is no such principal.", "See tenure principal list, or GET /api/v1/principals.")
    return principal
