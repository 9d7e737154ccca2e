"""Who asks, of which tenant, of which store."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tenure.store.port import Store


@dataclass(frozen=True, slots=True)
class Caller:
    """The identity and the store under which actions run. ``actor`` is a principal such as ``user:ada``."""

    store: Store
    tenant: int
    actor: str
    tenant_key: str = "default"
    principal: int | None = None
    """The uid of the principal behind a request to a server; None for a process that is trusted with the database."""
    joins: bool = False
    """True where it acts within somebody else's transaction, which may yet be rolled back."""

    def acting_as(self, actor: str) -> Caller:
        """The same caller under another principal."""
        return replace(self, actor=actor)
