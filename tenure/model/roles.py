"""Roles and what they permit (S1 section 10.4; design 06, HTTP API)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from tenure.model.errors import Forbidden


class Role(StrEnum):
    """The roles of S1 section 10.4; ``observer``, who only looks; ``management_node``, which runs what is submitted (S5)."""

    WORKER_SERVICE = "worker_service"
    WORKER_HUMAN = "worker_human"
    OPERATOR = "operator"
    ADMIN = "admin"
    OBSERVER = "observer"
    MANAGEMENT_NODE = "management_node"


class Permission(StrEnum):
    """What a route or an action asks for. Each belongs to one kind of responsibility, not to one route."""

    READ = "read"
    """See queues, subjects, their history, workers, leases, metrics."""
    SUBMIT = "submit"
    """Create subjects."""
    EXECUTE = "execute"
    """Be a management node: poll for work and report executions, of the node that one is bound to."""
    WORK = "work"
    """Be a worker: register, heartbeat, claim, and finish one's own leases."""
    OPERATE = "operate"
    """Hold, release holds, requeue, cancel, resolve dead letters."""
    ADMINISTER = "administer"
    """Force leases to expire, drain or disable workers, define queues, reopen what is terminal, manage identities."""


_LOOKING = frozenset({Permission.READ})
_WORKING = _LOOKING | {Permission.WORK}
_OPERATING = _WORKING | {Permission.SUBMIT, Permission.OPERATE}

#: What each role permits. An operator may claim as a human worker (S1 section 10.2).
GRANTS: dict[Role, frozenset[Permission]] = {
    Role.MANAGEMENT_NODE: frozenset({Permission.EXECUTE}),
    Role.OBSERVER: _LOOKING,
    Role.WORKER_HUMAN: _WORKING,
    Role.WORKER_SERVICE: _WORKING | {Permission.SUBMIT},
    Role.OPERATOR: _OPERATING,
    Role.ADMIN: _OPERATING | {Permission.ADMINISTER},
}


def permissions_of(roles: Iterable[Role]) -> frozenset[Permission]:
    """Everything that the roles permit together."""
    return frozenset[Permission]().union(*(GRANTS[role] for role in roles))


def roles_with(permission: Permission) -> list[Role]:
    """The roles that permit it, least powerful first."""
    return sorted((role for role in Role if permission in GRANTS[role]), key=lambda role: len(GRANTS[role]))


def demand(permission: Permission, held: frozenset[Permission]) -> None:
    """``Forbidden`` where the permission is not held; it names the roles that have it."""
    if permission not in held:
        raise Forbidden(
            f"This needs the permission to {permission}.",
            f"Ask an admin for one of the roles {', '.join(roles_with(permission))}.",
            permission=str(permission),
        )
