"""Principals and access tokens of the memory store."""

from __future__ import annotations

from datetime import timedelta

from tenure.model.errors import AlreadyExists
from tenure.model.fact import Fact
from tenure.model.principal import AccessToken, Principal, PrincipalStatus
from tenure.store.memory.room import Room, operation
from tenure.store.records import Proved

_NOTED_EVERY = timedelta(minutes=1)


class Identities(Room):
    """Who acts, and what proves it."""

    @operation
    def principal(
        self, tenant: int, *, uid: int | None = None, name: str | None = None, lock: bool = False
    ) -> Principal | None:
        """See ``Store.principal``."""
        found = (p for p in self._of(tenant) if (p.uid == uid if uid is not None else p.name == name))
        return next(found, None)

    @operation
    def principals(self, tenant: int, limit: int, after: str = "") -> list[Principal]:
        """See ``Store.principals``."""
        found = sorted((p for p in self._of(tenant) if p.name > after), key=lambda p: p.name)
        return found[:limit]

    @operation
    def write_principal(self, principal: Principal, fact: Fact, *, new: bool) -> None:
        """See ``Store.write_principal``."""
        others = [p for p in self._of(principal.tenant) if p.uid != principal.uid]
        outside = (principal.oidc_issuer, principal.oidc_subject)
        taken = any(
            p.name == principal.name or (p.oidc_issuer, p.oidc_subject) == outside != (None, None) for p in others
        )
        if taken:
            raise AlreadyExists(
                f"There is a principal {principal.name} already, or one with this outside identity.",
                "Change that one, or choose another name.",
            )
        self._data.principals.put(principal.uid, principal)
        self._told(fact)

    @operation
    def write_password(self, principal: Principal, fact: Fact, password_hash: str) -> None:
        """See ``Store.write_password``."""
        self._data.principals.put(principal.uid, principal)
        self._data.password_hashes.put(principal.uid, password_hash)
        self._told(fact)

    @operation
    def access_token(self, tenant: int, uid: int) -> AccessToken | None:
        """See ``Store.access_token``."""
        token = self._data.access_tokens.get(uid)
        return token if token is not None and token.tenant == tenant else None

    @operation
    def access_tokens(
        self, tenant: int, limit: int, *, principal: int | None = None, usable: bool = True, before: int | None = None
    ) -> list[AccessToken]:
        """See ``Store.access_tokens``."""
        now = self._data.clock()
        found = [
            t for t in self._data.access_tokens.values()
            if t.tenant == tenant and principal in (None, t.principal) and (before is None or t.uid < before)
            and (not usable or t.usable(now))
        ]  # fmt: skip
        return sorted(found, key=lambda t: -t.uid)[:limit]

    @operation
    def insert_access_token(self, token: AccessToken, digest: bytes, fact: Fact) -> None:
        """See ``Store.insert_access_token``."""
        self._data.access_tokens.put(token.uid, token)
        self._data.digests.put(digest, token.uid)
        self._told(fact)

    @operation
    def revoke_access_token(self, token: AccessToken, fact: Fact) -> None:
        """See ``Store.revoke_access_token``."""
        self._data.access_tokens.put(token.uid, token)
        self._told(fact)

    @operation
    def authenticate(self, digest: bytes) -> Proved | None:
        """See ``Store.authenticate``."""
        uid = self._data.digests.get(digest)
        if uid is None:
            return None
        token, now = self._data.access_tokens[uid], self._data.clock()
        principal = self._data.principals[token.principal]
        if not token.usable(now) or principal.status is not PrincipalStatus.ACTIVE:
            return None
        if token.last_used_at is None or token.last_used_at <= now - _NOTED_EVERY:
            self._data.access_tokens.put(uid, token.model_copy(update={"last_used_at": now}))
        return Proved(principal, self._key(principal.tenant), token)

    @operation
    def signing_in(self, tenant_key: str, name: str) -> tuple[Proved, str | None] | None:
        """See ``Store.signing_in``."""
        for principal in self._of(self._data.tenants.get(tenant_key)):
            if principal.name == name and principal.status is PrincipalStatus.ACTIVE:
                return Proved(principal, tenant_key), self._data.password_hashes.get(principal.uid)
        return None

    @operation
    def signed_in_elsewhere(self, tenant_key: str, issuer: str, subject: str) -> tuple[int, Proved | None] | None:
        """See ``Store.signed_in_elsewhere``."""
        tenant = self._data.tenants.get(tenant_key)
        if tenant is None:
            return None
        meant = (p for p in self._of(tenant) if (p.oidc_issuer, p.oidc_subject) == (issuer, subject))
        return tenant, next((Proved(principal, tenant_key) for principal in meant), None)

    def _of(self, tenant: int | None) -> list[Principal]:
        return [p for p in self._data.principals.values() if p.tenant == tenant]

    def _key(self, tenant: int) -> str:
        return next(key for key, uid in self._data.tenants.items() if uid == tenant)

    def _told(self, fact: Fact) -> None:
        self._data.heads.put(fact.thread, (fact.seq, fact.hash))
        self._data.tell(fact)
        known = self._data.principals[fact.thread]
        if known.seq != fact.seq:  # a fact of a token leaves the principal as it is but for the length of its thread
            self._data.principals.put(fact.thread, known.model_copy(update={"seq": fact.seq}))
