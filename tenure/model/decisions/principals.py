"""Creating and changing principals and their access tokens, and the facts that tell of it (design 06, HTTP API)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from tenure.model import fact_types as ft
from tenure.model.errors import Conflict, InvalidRequest, InvalidTransition, RevisionConflict
from tenure.model.fact import Fact, check_data
from tenure.model.json_text import instant
from tenure.model.principal import (
    AccessToken,
    AccessTokenSpec,
    Principal,
    PrincipalChange,
    PrincipalSpec,
    PrincipalStatus,
)

#: What facts repeat of a principal. The rest names people and may have to be forgotten one day; facts never are.
_TOLD = frozenset({"roles", "status"})


def decide_create(spec: PrincipalSpec, uid: int, tenant: int, now: datetime, actor: str) -> tuple[Principal, Fact]:
    """A new principal, and the first fact of its thread."""
    principal = Principal(**spec.model_dump(exclude={"reason"}), uid=uid, tenant=tenant, seq=1, created_at=now)
    data = {"name": spec.name, "roles": sorted(spec.roles), **_reason(spec.reason)}
    return principal, _fact(principal, ft.PRINCIPAL_CREATED, data, now, actor, b"")


def decide_change(
    principal: Principal, change: PrincipalChange, now: datetime, actor: str, head: bytes
) -> tuple[Principal, Fact] | None:
    """The principal after a change, with the fact that tells of it; None where it changes nothing."""
    if change.expected_revision not in (None, principal.revision):
        raise RevisionConflict(
            f"Expected revision {change.expected_revision}, but it is {principal.revision}.",
            "Read the principal again and decide anew.", expected=change.expected_revision, actual=principal.revision,
        )  # fmt: skip
    wanted = change.changes()
    changes = {name: value for name, value in wanted.items() if value != getattr(principal, name)}
    if not changes:
        return None
    changed = principal.model_copy(update={**changes, "revision": principal.revision + 1, "seq": principal.seq + 1})
    told = {name: _plain(value) for name, value in changes.items() if name in _TOLD}
    data = {"set": told, "fields": sorted(changes), **_reason(change.reason)}
    return changed, _fact(changed, ft.PRINCIPAL_CHANGED, data, now, actor, head)


def decide_password(principal: Principal, now: datetime, actor: str, head: bytes) -> tuple[Principal, Fact]:
    """The principal with another password, which no fact carries, nor its hash."""
    changed = principal.model_copy(
        update={"has_password": True, "revision": principal.revision + 1, "seq": principal.seq + 1}  # nosec B105
    )
    return changed, _fact(changed, ft.PASSWORD_SET, {}, now, actor, head)


def decide_token(
    principal: Principal, spec: AccessTokenSpec, uid: int, now: datetime, actor: str, head: bytes
) -> tuple[Principal, AccessToken, Fact]:
    """A new access token in the thread of its principal. ``InvalidRequest`` for roles that the principal lacks."""
    if principal.status is not PrincipalStatus.ACTIVE:
        raise InvalidTransition(f"{principal.name} is disabled.", "Enable it first: tenure principal enable.")
    beyond = sorted(set(spec.roles or ()) - set(principal.roles))
    if beyond:
        raise InvalidRequest(
            f"{principal.name} does not have the role {', '.join(beyond)}.",
            f"A token carries at most the roles of its principal: {', '.join(sorted(principal.roles)) or 'none'}.",
        )
    token = AccessToken(
        uid=uid, tenant=principal.tenant, principal=principal.uid, kind=spec.kind, label=spec.label, roles=spec.roles,
        created_at=now, expires_at=now + timedelta(seconds=spec.lifetime_seconds),
    )  # fmt: skip
    data: dict[str, Any] = {"access_token": uid, "kind": str(spec.kind), "expires_at": instant(token.expires_at)}
    data |= {"label": spec.label} if spec.label else {}
    data |= {"roles": sorted(spec.roles)} if spec.roles is not None else {}
    known = principal.model_copy(update={"seq": principal.seq + 1})
    return known, token, _fact(known, ft.ACCESS_TOKEN_CREATED, data, now, actor, head)


def decide_revoke(
    principal: Principal, token: AccessToken, reason: str | None, now: datetime, actor: str, head: bytes
) -> tuple[Principal, AccessToken, Fact]:
    """A token that proves nothing any more. ``Conflict`` where it was revoked before."""
    if token.revoked_at is not None:
        raise Conflict("The token was revoked before.", "There is nothing to do.")
    known = principal.model_copy(update={"seq": principal.seq + 1})
    data = {"access_token": token.uid, **_reason(reason)}
    fact = _fact(known, ft.ACCESS_TOKEN_REVOKED, data, now, actor, head)
    return known, token.model_copy(update={"revoked_at": now}), fact


def _reason(reason: str | None) -> dict[str, str]:
    return {"reason": reason} if reason else {}


def _plain(value: Any) -> Any:
    return sorted(map(str, value)) if isinstance(value, tuple) else str(value)


def _fact(principal: Principal, type_: str, data: Mapping[str, Any], now: datetime, actor: str, head: bytes) -> Fact:
    check_data(data)
    fact = Fact(
        thread=principal.uid, seq=principal.seq, type=type_, at=now, tenant=principal.tenant, actor=actor,
        revision=principal.revision, data=data,
    )  # fmt: skip
    return replace(fact, hash=fact.content_hash(head))
