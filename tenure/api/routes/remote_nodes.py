"""Management nodes: defined by admins, and their poll (S5; design 04; decision 13)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request

from tenure.api.answers import Answer, answered
from tenure.api.authentication import Admin, GatewayOf, NodeIdentity, Observer, still_proved
from tenure.api.body import JsonRoute
from tenure.api.gateway import Gateway
from tenure.api.hanging_up import hung_up
from tenure.api.live.waiting import Waiting
from tenure.api.schemas.page import Page
from tenure.api.schemas.remote import NodeBody
from tenure.api.sweeping import Sweeping
from tenure.model.principal import Identity
from tenure.remote.engine import nodes
from tenure.remote.engine.polling import poll
from tenure.remote.engine.serving import bound_node
from tenure.remote.model.contracts import NodeOrders, NodePoll
from tenure.remote.model.names import queue_key_of
from tenure.remote.model.node import NodeName
from tenure.remote.model.shown import NodeShown
from tenure.sdk.public_form import public

router = APIRouter(prefix="/api/v1/remote", tags=["remote"], route_class=JsonRoute)
Node = Annotated[NodeName, Path(alias="node", description="The name of a management node.", examples=["cluster-1"])]


@router.get("/nodes", operation_id="list_nodes", summary="All management nodes", response_model=Page[NodeShown])
async def list_nodes(identity: Observer, gateway: GatewayOf) -> Answer:
    """By name. There are few: they come on one page."""
    return await answered(gateway, identity, nodes.nodes, shown=lambda rows: {"items": public(rows), "next": None})


@router.get("/nodes/{node}", operation_id="get_node", summary="One management node", response_model=NodeShown)
async def get_node(node: Node, identity: Observer, gateway: GatewayOf) -> Answer:
    """Its definition, and what its last poll said."""
    return await answered(gateway, identity, lambda caller: nodes.node_named(caller, node))


@router.put("/nodes/{node}", operation_id="define_node", summary="Define or change a management node",
            response_model=NodeShown)  # fmt: skip
async def define_node(node: Node, body: NodeBody, identity: Admin, gateway: GatewayOf) -> Answer:
    """Makes its queue, its worker and its principal where they are missing. The same again changes nothing."""
    return await answered(
        gateway, identity, lambda caller: nodes.define_node(caller, node, body.spec(), body.principal)
    )


@router.get("/node", operation_id="get_own_node", summary="The node that one is", response_model=NodeShown,
            responses={404: {"description": "One is bound to no management node."}})  # fmt: skip
async def get_own_node(identity: NodeIdentity, gateway: GatewayOf) -> Answer:
    """The management node that one's principal is bound to, so that an agent can see whose token it has."""
    return await answered(gateway, identity, bound_node)


@router.post("/nodes/{node}/poll", operation_id="poll_node", summary="A node says that it lives, and asks what to do",
             response_model=NodeOrders)  # fmt: skip
async def poll_node(node: Node, body: NodePoll, request: Request, identity: NodeIdentity, gateway: GatewayOf) -> Answer:
    """Heartbeat, work and cancellations in one (long poll): for the node that one is bound to.

    `work` is told again until the node holds it or has reported it. A node has one agent: one of another state folder gets
    `node_has_agent` while the node's own may still submit, and one that comes back after it was replaced gets
    `worker_superseded`. Both are to stop.
    """
    looking = _Looking(gateway, identity, node, body, request)
    orders = await looking.look()
    if not orders and body.wait_seconds > 0:
        waiting: Waiting = request.app.state.waiting
        seconds = min(body.wait_seconds, looking.latest.renew_within_seconds)
        await waiting.until_taken(identity, [queue_key_of(node)], seconds, looking.look, hung_up(request))
    sweeping: Sweeping = request.app.state.sweeping
    await sweeping.clean(identity)
    return Answer(_told(looking.latest))


def _told(orders: NodeOrders) -> dict[str, Any]:
    """The answer with every field that it had from the first, whether it is null or not; the newer one where it says something."""
    told: dict[str, Any] = public(orders)
    return {name: value for name, value in told.items() if name != "submit_within_seconds" or value is not None}


class _Looking:
    """Polls, and remembers the last answer."""

    def __init__(self, gateway: Gateway, identity: Identity, node: str, said: NodePoll, request: Request) -> None:
        self._gateway, self._identity, self._node, self._said = gateway, identity, node, said
        self._request = request
        self._again = False
        self.latest = NodeOrders(cancel=(), renew_within_seconds=1)

    async def look(self) -> list[NodeOrders]:
        """The orders, where there are any. Raises Unauthenticated where the credential was revoked since the last look."""
        if self._again:
            await still_proved(self._request)
        self._again = True
        self.latest = await self._gateway.perform(
            self._identity, lambda caller: poll(caller, self._node, self._said)
        )  # fmt: skip
        return [self.latest] if self.latest.work or self.latest.cancel else []
