"""The person before a page: proved anew for every look, so that a session that ended shows nothing more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tenure.api.gateway import Gateway
from tenure.engine.authentication import authenticate
from tenure.engine.caller import Caller
from tenure.model.errors import Unauthenticated
from tenure.model.principal import Identity
from tenure.model.roles import Permission
from tenure.sdk.token import digest_of
from tenure.store.operation import Op
from tenure.store.records import QueueCounts
from tenure.ui.desk import desk_token
from tenure.ui.tally import TALLY

T = TypeVar("T")


class Visitor:
    """Reads and acts as the person whose session cookie came with the page. The cookie itself is not kept."""

    def __init__(self, gateway: Gateway, cookie: str | None) -> None:
        self._gateway = gateway
        self._digest = digest_of(cookie) if cookie else None
        self.desk = desk_token(cookie or "")
        """Proves the leases that are taken in this session."""
        self._identity: Identity | None = None

    @property
    def identity(self) -> Identity:
        """Who it is. Raises Unauthenticated before ``prove``."""
        if self._identity is None:
            raise Unauthenticated("You are not signed in.", "Sign in again.")
        return self._identity

    async def prove(self) -> Identity:
        """Look the session up. Raises Unauthenticated where it has ended."""
        digest = self._digest
        if digest is None:
            raise Unauthenticated("You are not signed in.", "Sign in.")
        identity = await self._gateway.perform_unbound(lambda store: authenticate(store, digest))
        self._identity = identity
        return identity

    async def read(self, make: Callable[[Caller], Op[T]], permission: Permission = Permission.READ) -> T:
        """Run a reading operation. Raises Forbidden, and what the operation raises."""
        self.identity.demand(permission)
        return await self._gateway.perform(self.identity, make)

    async def counts(self, queue_keys: Sequence[str]) -> dict[str, QueueCounts]:
        """The counts of queues, which all visitors share."""
        self.identity.demand(Permission.READ)
        return await TALLY.counts(self._gateway, self.identity, queue_keys)

    async def act(self, permission: Permission, make: Callable[[Caller], Op[T]]) -> T:
        """Run an action in the person's name. Raises Unauthenticated, Forbidden, and what the action raises."""
        identity = await self.prove()
        identity.demand(permission)
        return await self._gateway.perform(identity, make)

    def may(self, permission: Permission) -> bool:
        """Whether the person's roles permit it."""
        return self._identity is not None and permission in self._identity.permissions
