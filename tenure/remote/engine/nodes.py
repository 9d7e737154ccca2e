"""define_node: a management node with all that it stands on: worker, queue, principal (decision 13; design 06, Auth)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tenure.engine.actions.principals import change_principal, create_principal
from tenure.engine.actions.queues import define_queue, update_queue_policy
from tenure.engine.actions.workers import register_worker
from tenure.engine.caller import Caller
from tenure.engine.logging import told
from tenure.model import fact_types as ft
from tenure.model.errors import AlreadyExists, Conflict, PayloadTooLarge
from tenure.model.fact import MAX_DATA_BYTES, Fact, check_data
from tenure.model.principal import Principal, PrincipalChange, PrincipalSpec
from tenure.model.queue import QueuePolicy
from tenure.model.roles import Role
from tenure.model.states import WorkerType
from tenure.model.worker import WorkerSpec
from tenure.remote.engine.remote import remote_of
from tenure.remote.model.errors import NodeNotFound
from tenure.remote.model.names import TEMPLATE, capability_of, queue_key_of
from tenure.remote.model.node import NodeSpec, check_name
from tenure.remote.rows import NodeRow
from tenure.store.operation import Op

_LEASES = 1_000_000


@dataclass(frozen=True, slots=True)
class NodeStanding:
    """A node as it stands."""

    node: NodeRow
    principal: str
    """The name of the principal that is bound to it."""
    silent: bool
    at: datetime


def define_node(caller: Caller, name: str, spec: NodeSpec, principal: str | None = None) -> Op[NodeStanding]:
    """Define a node, or change it; the same again changes nothing.

    Its queue is ``remote.NAME``. The principal that may poll and report for it is ``agent:NAME`` where none is named; it
    is made where it is missing, and gets the role management_node. ``Conflict`` where the principal is another node's,
    ``InvalidRequest`` where the name is none, ``PayloadTooLarge`` where the definition does not fit into a fact.
    """
    op = _defined(caller, name, spec, principal)
    return told(caller, "define_node", op, lambda standing: {"seq": standing.node.seq}, queue_key=queue_key_of(name))


def _defined(caller: Caller, name: str, spec: NodeSpec, principal: str | None) -> Op[NodeStanding]:
    check_name(name)
    try:
        return (yield from caller.store.transaction(_define(caller, name, spec, principal)))
    except AlreadyExists:
        # Another process defined it at the same moment: now it is there to be changed.
        return (yield from caller.store.transaction(_define(caller, name, spec, principal)))


def _define(caller: Caller, name: str, spec: NodeSpec, principal_name: str | None) -> Op[NodeStanding]:
    storage = remote_of(caller).storage
    there = yield from storage.node(caller.tenant, name=name, lock=True)
    if there is not None and principal_name is None:
        principal = yield from _principal_of(caller, there)
    else:
        principal = yield from _principal(caller, principal_name or f"agent:{name}")
    bound = yield from storage.node(caller.tenant, principal=principal.uid)
    if bound is not None and bound.name != name:
        raise Conflict(
            f"{principal.name} is bound to node {bound.name}.",
            "Give each node a principal of its own.",
            node=bound.name,
        )
    yield from _queue(caller, name, spec)
    plain = spec.model_dump(mode="json")
    now = yield from caller.store.clock()
    if there is None:
        owned = replace(caller, principal=principal.uid)
        worker = yield from register_worker(owned, node_as_worker(name, spec))
        uid = (yield from caller.store.fresh_uids(1))[0]
        row = NodeRow(uid, caller.tenant, name, plain, worker.uid, principal.uid, now, incarnation=worker.incarnation)
        data = {"name": name, "spec": spec.told(), "principal": principal.uid, "worker": worker.uid}
        row = yield from _write(caller, row, ft.NODE_DEFINED, data, now, new=True)
    elif dict(there.spec) != plain or there.principal != principal.uid:
        row = replace(there, spec=plain, principal=principal.uid)
        data = {"set": {"spec": spec.told(), "principal": principal.uid}}
        row = yield from _write(caller, row, ft.NODE_CHANGED, data, now, new=False)
    else:
        row = there
    return NodeStanding(row, principal.name, row.silent(now), now)


def node_named(caller: Caller, name: str) -> Op[NodeStanding]:
    """One node; ``NodeNotFound`` where there is none."""
    row = yield from remote_of(caller).storage.node(caller.tenant, name=name)
    if row is None:
        raise no_such_node(name)
    principal = yield from _principal_of(caller, row)
    now = yield from caller.store.clock()
    return NodeStanding(row, principal.name, row.silent(now), now)


def nodes(caller: Caller) -> Op[list[NodeStanding]]:
    """All nodes, by name."""
    found = yield from remote_of(caller).storage.nodes(caller.tenant)
    now = yield from caller.store.clock()
    standings = []
    for row in found:
        principal = yield from _principal_of(caller, row)
        standings.append(NodeStanding(row, principal.name, row.silent(now), now))
    return standings


def known(caller: Caller) -> Op[list[NodeRow]]:
    """The rows of all nodes, by name."""
    return (yield from remote_of(caller).storage.nodes(caller.tenant))


def no_such_node(name: str) -> NodeNotFound:
    """The error of a node that is not there."""
    return NodeNotFound(
        f"There is no management node {name!r}.", "Define it first: tenure node define; or correct the name."
    )


def _principal_of(caller: Caller, row: NodeRow) -> Op[Principal]:
    principal = yield from caller.store.principal(caller.tenant, uid=row.principal)
    assert principal is not None, "principals are never deleted"
    return principal


def _principal(caller: Caller, name: str) -> Op[Principal]:
    known = yield from caller.store.principal(caller.tenant, name=name)
    if known is None:
        return (yield from create_principal(caller, PrincipalSpec(name=name, roles=(Role.MANAGEMENT_NODE,))))
    if Role.MANAGEMENT_NODE in known.roles:
        return known
    change = PrincipalChange(roles=(*known.roles, Role.MANAGEMENT_NODE), reason="bound to a management node")
    return (yield from change_principal(caller, known.uid, change))


def node_as_worker(name: str, spec: NodeSpec, agent_id: str = "") -> WorkerSpec:
    """What the kernel knows of a node."""
    return WorkerSpec(
        worker_key=queue_key_of(name), display_name=f"management node {name}", worker_type=WorkerType.INSTRUMENT_ADAPTER,
        capabilities=(capability_of(name),), max_concurrent_leases=_LEASES,
        heartbeat_ttl_seconds=spec.silent_after_seconds, process_identity=agent_id, queues=(queue_key_of(name),),
    )  # fmt: skip


def _queue(caller: Caller, name: str, spec: NodeSpec) -> Op[None]:
    key = queue_key_of(name)
    changes: dict[str, Any] = {
        "lease_ttl_seconds": spec.lease_seconds, "max_attempts_default": spec.max_attempts,
        "retry_policy": spec.retry.model_dump(mode="json"),
    }  # fmt: skip
    known = (yield from caller.store.queues(caller.tenant, [key])).get(key)
    if known is not None:
        policy = known.policy()
        if any(policy[field] != value for field, value in changes.items()):
            yield from update_queue_policy(caller, key, changes)
        return
    policy_of = QueuePolicy(
        queue_key=key, display_name=f"management node {name}", subject_template_codes=(TEMPLATE,),
        required_worker_capabilities=(capability_of(name),), lease_ttl_seconds=spec.lease_seconds,
        max_attempts_default=spec.max_attempts, retry_policy=spec.retry,
    )  # fmt: skip
    yield from define_queue(caller, policy_of)


def _write(
    caller: Caller, row: NodeRow, type_: str, data: Mapping[str, Any], now: datetime, *, new: bool
) -> Op[NodeRow]:
    _check_data(row.name, data)
    fact = Fact(row.uid, row.seq + 1, type_, now, caller.tenant, caller.actor, data=data)
    fact.hash = fact.content_hash(row.head)
    if not (yield from remote_of(caller).storage.write_node(row, fact, new=new)):
        raise AlreadyExists(f"Node {row.name!r} was defined at this moment.", "Read it and decide anew.")
    return replace(row, seq=fact.seq, head=fact.hash)


def _check_data(name: str, data: Mapping[str, Any]) -> None:
    try:
        check_data(data)
    except PayloadTooLarge as error:
        raise PayloadTooLarge(
            f"The definition of node {name} takes {error.evidence['size']} bytes; its fact has room for {MAX_DATA_BYTES}.",
            "Define fewer queues, or name less in each: what is left out takes no room.", **error.evidence,
        ) from None  # fmt: skip
