"""Principals and access tokens, and how it is found out who asks before any tenant is known (migration 0008)."""

from __future__ import annotations

from typing import Any

from tenure.model.errors import AlreadyExists
from tenure.model.fact import Fact
from tenure.model.principal import AccessToken, Principal, TokenKind
from tenure.store.operation import Op, Statement
from tenure.store.postgres import rows
from tenure.store.postgres.registry import fact_params
from tenure.store.records import Proved

_NEWEST = 2**63 - 1


class Identities:
    """The identity part of the store port."""

    def principal(
        self, tenant: int, *, uid: int | None = None, name: str | None = None, lock: bool = False
    ) -> Op[Principal | None]:
        """See ``Store.principal``."""
        params = {"tenant": tenant, "uid": uid, "name": name}
        found = yield Statement("lock_principal" if lock else "principal", params)
        return rows.principal(found[0]) if found else None

    def principals(self, tenant: int, limit: int, after: str = "") -> Op[list[Principal]]:
        """See ``Store.principals``."""
        found = yield Statement("principals", {"tenant": tenant, "limit": limit, "after": after})
        return [rows.principal(row) for row in found]

    def write_principal(self, principal: Principal, fact: Fact, *, new: bool) -> Op[None]:
        """See ``Store.write_principal``."""
        params = principal.model_dump() | fact_params(fact)
        params |= {"head": fact.hash, "status": str(principal.status), "roles": [str(r) for r in principal.roles]}
        written = yield Statement("insert_principal" if new else "update_principal", params)
        if not written:
            raise AlreadyExists(
                f"There is a principal {principal.name} already, or one with this outside identity.",
                "Change that one, or choose another name.",
            )

    def write_password(self, principal: Principal, fact: Fact, password_hash: str) -> Op[None]:
        """See ``Store.write_password``."""
        yield Statement("set_password", fact_params(fact) | {"head": fact.hash, "password_hash": password_hash})

    def access_token(self, tenant: int, uid: int) -> Op[AccessToken | None]:
        """See ``Store.access_token``."""
        found = yield Statement("access_token", {"tenant": tenant, "uid": uid})
        return rows.access_token(found[0]) if found else None

    def access_tokens(
        self, tenant: int, limit: int, *, principal: int | None = None, usable: bool = True, before: int | None = None
    ) -> Op[list[AccessToken]]:
        """See ``Store.access_tokens``."""
        params = {
            "tenant": tenant, "principal": principal, "usable": usable, "limit": limit,
            "before": before if before is not None else _NEWEST,
        }  # fmt: skip
        return [rows.access_token(row) for row in (yield Statement("access_tokens", params))]

    def insert_access_token(self, token: AccessToken, digest: bytes, fact: Fact) -> Op[None]:
        """See ``Store.insert_access_token``."""
        params = fact_params(fact) | {
            "head": fact.hash, "access_token": token.uid, "digest": digest, "kind": str(token.kind), "label": token.label,
            "roles": [str(role) for role in token.roles] if token.roles is not None else None,
            "expires_at": token.expires_at,
        }  # fmt: skip
        yield Statement("insert_access_token", params)

    def revoke_access_token(self, token: AccessToken, fact: Fact) -> Op[None]:
        """See ``Store.revoke_access_token``."""
        yield Statement("revoke_access_token", fact_params(fact) | {"head": fact.hash, "access_token": token.uid})

    def authenticate(self, digest: bytes) -> Op[Proved | None]:
        """See ``Store.authenticate``."""
        found = yield Statement("authenticate", {"digest": digest})
        if not found:
            return None
        row = found[0]
        token = AccessToken(
            uid=row["token"], tenant=row["tenant"], principal=row["uid"], kind=TokenKind(row["kind"]),
            label=row["label"], roles=row["token_roles"], created_at=row["token_created_at"],
            expires_at=row["expires_at"], last_used_at=row["last_used_at"],
        )  # fmt: skip
        return _proved(row, token)

    def signing_in(self, tenant_key: str, name: str) -> Op[tuple[Proved, str | None] | None]:
        """See ``Store.signing_in``."""
        found = yield Statement("signing_in", {"tenant_key": tenant_key, "name": name})
        return (_proved(found[0]), found[0]["password_hash"]) if found else None

    def signed_in_elsewhere(self, tenant_key: str, issuer: str, subject: str) -> Op[tuple[int, Proved | None] | None]:
        """See ``Store.signed_in_elsewhere``."""
        params = {"tenant_key": tenant_key, "issuer": issuer, "subject": subject}
        found = yield Statement("signed_in_elsewhere", params)
        if not found:
            return None
        return found[0]["tenant"], _proved(found[0]) if found[0]["uid"] is not None else None


def _proved(row: Any, token: AccessToken | None = None) -> Proved:
    return Proved(rows.principal(row), row["tenant_key"], token)
