"""Who a management node is: the principal that is bound to it, and the one agent that polls for it (decisions 13 and 19)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from tenure.engine.actions.workers import register_worker
from tenure.engine.caller import Caller
from tenure.model.errors import Forbidden, WorkerSuperseded
from tenure.remote.engine.nodes import NodeStanding, no_such_node, node_as_worker, node_named
from tenure.remote.engine.remote import remote_of
from tenure.remote.model.contracts import NodePoll
from tenure.remote.model.errors import NodeHasAgent, NodeNotFound
from tenure.remote.model.node import NodeSpec
from tenure.remote.rows import NodeRow
from tenure.store.operation import Op

_FORMER = 500
"""So many agents of a node are remembered, to tell one that was superseded from a new one."""
_LONGEST_SERVED = 300.0
"""Seconds after its last poll in which no agent of another folder takes an agent's place, however long leases are."""
_OF_NODE = "Use a token of the node: tenure node token NODE."


def own_node(caller: Caller, name: str, *, lock: bool = False) -> Op[NodeRow]:
    """The node of that name, which the caller may act for."""
    node = yield from remote_of(caller).storage.node(caller.tenant, name=name, lock=lock)
    if node is None:
        raise no_such_node(name)
    if caller.principal not in (None, node.principal):
        raise (yield from _foreign(caller, node))
    return node


def bound_node(caller: Caller) -> Op[NodeStanding]:
    """The node that the caller is bound to. Raises NodeNotFound where that is none."""
    node = None
    if caller.principal is not None:
        node = yield from remote_of(caller).storage.node(caller.tenant, principal=caller.principal)
    if node is None:
        raise NodeNotFound("You are bound to no management node.", _OF_NODE)
    return (yield from node_named(caller, node.name))


def beaten(caller: Caller, node: NodeRow, said: NodePoll, now: datetime) -> Op[NodeRow]:
    """The node after an agent of it has polled. Raises NodeHasAgent, WorkerSuperseded where it has another one."""
    if said.agent_id in node.former_agents:
        raise WorkerSuperseded(
            f"Another agent polls for node {node.name} since.", "Stop this one: only the newest agent is the node.",
            agent_id=said.agent_id,
        )  # fmt: skip
    if said.agent_id != node.agent_id:
        _see_that_it_is_free(node, said, now)
        node = yield from _taken_over(caller, node, said)
    yield from caller.store.beat(caller.tenant, node.worker, node.incarnation, None)
    problem, of_a_job = said.scheduler_problem, said.job_problem
    if said.accepting > 0 and problem is not None:
        # An agent takes no work while its scheduler is in trouble: one of before, which has one field for both, means a job.
        problem, of_a_job = None, of_a_job or problem
    since = None if problem is None else node.problem_since if node.scheduler_problem is not None else now
    node = replace(
        node, polled_at=now, draining=said.draining, holding=len(said.holding), scheduler=said.scheduler,
        scheduler_problem=problem, problem_since=since, job_problem=of_a_job, folder_id=said.folder_id,
        served_until=now + timedelta(seconds=served_seconds(node.parsed())),
    )  # fmt: skip
    yield from remote_of(caller).storage.beat_node(node)
    return node


def served_seconds(spec: NodeSpec) -> float:
    """For so long after its poll an agent is the node, whoever else polls."""
    return min(float(spec.lease_seconds), _LONGEST_SERVED)


def _see_that_it_is_free(node: NodeRow, said: NodePoll, now: datetime) -> None:
    """Started again in its folder, an agent goes on where it was. One of another folder knows nothing of what the node's
    agent may be about to submit: it waits until that one may not any more (``submit_within_seconds``).
    """
    if node.folder_id in (None, said.folder_id) or node.served_until is None or node.served_until <= now:
        return
    left = (node.served_until - now).total_seconds()
    heard = f"{(now - node.polled_at).total_seconds():.0f} s ago" if node.polled_at is not None else "before"
    raise NodeHasAgent(
        f"Node {node.name} has an agent that works in another state folder; it polled {heard}.",
        "A node has one agent and one state folder: stop one of the two. Where the other one has ended for good, this one can "
        f"be started in {left:.0f} s.",
        node=node.name, polled_at=node.polled_at, retry_after=left,
    )  # fmt: skip


def _taken_over(caller: Caller, node: NodeRow, said: NodePoll) -> Op[NodeRow]:
    spec = node_as_worker(node.name, node.parsed(), said.agent_id)
    worker = yield from register_worker(replace(caller, principal=None), spec)
    former = (*node.former_agents, node.agent_id) if node.agent_id is not None else node.former_agents
    return replace(node, agent_id=said.agent_id, former_agents=former[-_FORMER:], incarnation=worker.incarnation)


def _foreign(caller: Caller, asked: NodeRow) -> Op[Forbidden]:
    own = yield from remote_of(caller).storage.node(caller.tenant, principal=caller.principal)
    bound = f"to node {own.name}" if own is not None else "to no management node"
    return Forbidden(f"You are bound {bound}, and ask for node {asked.name}.", _OF_NODE)
