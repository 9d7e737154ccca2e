"""Who asks: the identity that a secret proves, of whatever tenant (design 06, HTTP API; S1 section 10.4)."""

from __future__ import annotations

from tenure.model.errors import Unauthenticated
from tenure.model.principal import Identity
from tenure.store.operation import Op
from tenure.store.port import Store
from tenure.store.records import Proved


def authenticate(store: Store, digest: bytes) -> Op[Identity]:
    """The identity behind a secret with this SHA-256. Raises Unauthenticated, in the same words whatever the reason.

    A look-up by hash takes the same time for every guess, near or far. That the secret was used is noted once a minute.
    """
    proved = yield from store.authenticate(digest)
    if proved is None:
        raise Unauthenticated(
            "The credential proves nobody: it is unknown, has expired or was revoked.",
            "Sign in again, or ask an admin for a new token.",
        )
    return identity_of(proved)


def identity_of(proved: Proved) -> Identity:
    """The identity of a principal that was looked up: with the roles that it has now, and its token carries."""
    held = frozenset(proved.principal.roles)
    token = proved.token
    roles = held if token is None or token.roles is None else held & frozenset(token.roles)
    return Identity(proved.principal, proved.tenant_key, roles, token)
