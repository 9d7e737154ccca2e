"""A tenant with work, subscriptions and a relay in the test's own loop, under a clock that the test moves."""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import psycopg

from tenure import Tenure
from tenure.sdk.relay import Relay, RelayConnections, RelaySettings, relay_over
from tenure.testing.clock import MovableClock

T = TypeVar("T")
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
_numbers = itertools.count(1)
#: Delays that can be worked out in the head: 1, 2, 4, ... 60 seconds.
STEADY = {"mode": "EXPONENTIAL_BACKOFF", "initial_delay_seconds": 1, "max_delay_seconds": 60, "jitter": 0}


class Post:
    """One tenant of a database, and what is sent of it."""

    def __init__(self, dsn: str, *, moves: bool = True) -> None:
        self.dsn = self.relay_dsn = dsn
        self.clock = MovableClock(NOON)
        self.tenant = f"lab{next(_numbers)}"
        clock = self.clock if moves else None
        self.client = Tenure(dsn, tenant=self.tenant, actor="user:ada", clock=clock, create_tenant=True)
        self.client.define_queue("q")

    def subscribe(
        self, url: str, name: str = "all", types: Iterable[str] = ("subject.*", "hold.*"), **more: Any
    ) -> str:
        """Define a subscription to a webhook here; its key."""
        destination = {"kind": "webhook", "url": url, "allow_private": True, "timeout_seconds": 5}
        given = {
            "actor": "service:shop",
            "filter": {"types": list(types)},
            "destination": destination,
            "backoff": STEADY,
        }
        made = self.client.define_subscription(name, **(given | more))
        return made.key.text if made.key is not None else ""

    def work(self, subjects: int, facts: int = 1) -> list[str]:
        """Submit subjects, each with so many facts, by holding them; the ids of their events, in order by thread."""
        made = [self.client.submit(queue_key="q").subject for _ in range(subjects)]
        for _ in range(facts - 1):
            for subject in made:
                self.client.hold(subject, reason="look")
        return self.told()

    def batch(self, correlation_id: str, subjects: int = 1) -> list[str]:
        """Submit subjects of one correlation id; the ids of their events, in order."""
        from tenure.model.cloud_event import thread_euid

        requests = [{"queue_key": "q", "correlation_id": correlation_id} for _ in range(subjects)]
        made = self.client.submit_many(requests)
        return [f"{thread_euid(self.client.facts(each.subject)[0])}/1" for each in made]

    def told(self) -> list[str]:
        """The ids of the events of all subjects, in the order of the ledger."""
        from tenure.model.cloud_event import thread_euid

        facts = self.client.perform(lambda caller: caller.store.ledger_after(caller.tenant, 0, 2**62, 100_000))
        return [
            f"{thread_euid(fact)}/{fact.seq}" for fact in facts if fact.type.partition(".")[0] in ("subject", "hold")
        ]

    def standing(self, name: str = "all") -> Any:
        return self.client.subscription(name)

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """What a statement finds, as the owner of the schema."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            return connection.execute(statement, values or None).fetchall()

    def relay(self, **settings: Any) -> AbstractAsyncContextManager[Relay]:
        """A relay for this tenant alone, in the running loop."""
        return self._relay(RelaySettings(tenant=self.client.caller.tenant, **settings))

    @asynccontextmanager
    async def _relay(self, settings: RelaySettings) -> AsyncIterator[Relay]:
        connections = RelayConnections(self.relay_dsn, self.clock)
        await connections.open()
        relay = relay_over(connections, settings)
        try:
            yield relay
        finally:
            await relay.close()
            await connections.close()

    def drain(self, times: int = 1, then_seconds: float = 0, meanwhile: Callable[[], object] | None = None) -> None:
        """Send all that can be sent now, by a relay of this moment; so often, with time and what happens in between."""

        async def drained() -> None:
            async with self.relay() as relay:
                for _ in range(times):
                    await relay.drain()
                    self.clock.advance(seconds=then_seconds)
                    if meanwhile is not None:
                        meanwhile()

        asyncio.run(drained())

    def close(self) -> None:
        self.client.close()


def by_thread(events: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The ids of events by what they are about, in their order; those that came again once."""
    found: dict[str, list[str]] = defaultdict(list)
    for event in events:
        if event["id"] not in found[event["subject"]]:
            found[event["subject"]].append(event["id"])
    return dict(found)


def threads_of(ids: Iterable[str]) -> dict[str, list[str]]:
    """The same of ids alone."""
    found: dict[str, list[str]] = defaultdict(list)
    for each in ids:
        found[each.partition("/")[0]].append(each)
    return dict(found)
