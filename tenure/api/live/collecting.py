"""Events that come while others of the same node are being written go together in the next transaction (S5; design 04).

A transaction for each event would mostly be its own round trips. Nobody waits longer for it: an event that comes alone is
written at once. What is refused is refused alone, as if each had come by itself.
"""

from __future__ import annotations

import asyncio
from contextvars import Context
from dataclasses import dataclass, field

from tenure.api.gateway import Gateway
from tenure.model.errors import StoreUnavailable, TenureError
from tenure.model.principal import Identity
from tenure.remote.engine.receiving import CHUNK, Outcome, take_in
from tenure.remote.model.contracts import ExecutionEvent

Waiting = tuple[ExecutionEvent, asyncio.Future[Outcome]]


@dataclass(slots=True)
class _Node:
    """What one principal has sent and nobody has begun to write."""

    identity: Identity
    waiting: list[Waiting] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


class Collecting:
    """One for a server."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._nodes: dict[tuple[int, int], _Node] = {}

    async def take_in(self, identity: Identity, event: ExecutionEvent) -> Outcome:
        """What became of the event. Raises what concerns all events: a database that is away, a principal of no node."""
        key = (identity.tenant, identity.principal.uid)
        node = self._nodes.setdefault(key, _Node(identity))
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        node.waiting.append((event, outcome))
        if node.task is None:
            # Of no request's context: it writes for several.
            node.task = asyncio.get_running_loop().create_task(self._drain(key, node), context=Context())
        return await outcome

    async def _drain(self, key: tuple[int, int], node: _Node) -> None:
        while node.waiting:
            part, node.waiting = node.waiting[:CHUNK], node.waiting[CHUNK:]
            await self._write(node.identity, part)
        del self._nodes[key]

    async def _write(self, identity: Identity, part: list[Waiting]) -> None:
        events = [event for event, _ in part]
        try:
            outcomes = await self._gateway.perform(identity, lambda caller: take_in(caller, events))
        except Exception as error:
            if len(part) > 1 and not isinstance(error, StoreUnavailable):
                for each in part:  # so that only the one that is at fault is answered with it
                    await self._write(identity, [each])
                return
            for _, future in part:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), outcome in zip(part, outcomes, strict=True):
            if not future.done():
                future.set_result(outcome)


def raised(outcome: Outcome) -> Outcome:
    """The outcome, which is raised where it is an error."""
    if isinstance(outcome, TenureError):
        raise outcome
    return outcome
