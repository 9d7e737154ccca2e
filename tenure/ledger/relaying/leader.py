"""One relay's work for one subscription that it leads: turn by turn, read, send, and write down what came of it.

Events of one thread go one after the other, those of several at once. A thread whose event failed waits, by a row that says
from where; the others go on. Where a subscription groups threads, a group does what a thread does otherwise, and what the cursor
goes past while the group waits is noted by its position: there is no index of a group's facts, and none has to be paid for by
everybody. Up to the position of the cursor everything is delivered, or written down as waiting or given up.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Protocol, TypeVar

from tenure.ledger import storage
from tenure.ledger.destinations.making import Maker, destination_of
from tenure.ledger.destinations.protocol import Destination
from tenure.ledger.relaying import books
from tenure.ledger.relaying.turn import Turn
from tenure.ledger.rows import Parked, Watched
from tenure.model.cloud_event import Leaving, cloud_event
from tenure.model.fact import Fact
from tenure.store.operation import Op
from tenure.store.port import Store

T = TypeVar("T")

_log = logging.getLogger("tenure.relay")
PAGE = 100
_BEHIND_PAGE = 100
_DUE_AT_ONCE = 200
#: So many threads may wait; then nothing new is read until some got through.
MOST_PARKED = 1000
#: Seconds after which a turn begins no more deliveries, so that what was done is written down.
_TURN = 1.0
#: A cursor is moved over what nobody wants after so many seconds, or so many positions.
_MOVE_EVERY, _MOVE_PAST = 5.0, 10_000


class Perform(Protocol):
    """Runs operations on the database, each in a transaction of its own."""

    async def __call__(self, make: Callable[[Store], Op[T]], /) -> T:
        """The result of the operation."""
        ...


class Leader:
    """Leads one subscription, as long as its fence holds."""

    def __init__(self, perform: Perform, fence: int, files: Path | None, makers: Mapping[str, Maker]) -> None:
        self.fence = fence
        self._perform = perform
        self._files = files
        self._makers = makers
        self._destination: Destination | None = None
        self._made_of: object = None
        self._leavings: dict[str, Leaving] = {}
        self._seq = 0
        self._read: int | None = None
        self._ahead: set[int] = set()
        self._doubtful: set[int | str] = set()
        self.stopping = False

    async def close(self) -> None:
        """Let go of the destination."""
        if self._destination is not None:
            await self._destination.close()

    def wants(self, watched: Watched, safe: int) -> bool:
        """Whether a turn would find something to do."""
        due = watched.due_at is not None and watched.due_at <= watched.now
        return due or safe > max(watched.position, self._read or 0) or self._unwritten(watched)

    def _unwritten(self, watched: Watched) -> bool:
        """Whether the cursor is behind what was read, for longer than it may be."""
        moved = (self._read or 0) > watched.position
        return moved and (watched.now - watched.moved_at).total_seconds() >= _MOVE_EVERY

    async def turn(self, watched: Watched, safe: int) -> bool:
        """One turn over what can be sent up to a position; True where there is more to do at once.

        Raises Fenced where another leads by now; then this one is to be thrown away.
        """
        changed = watched.seq != self._seq
        if watched.resume_at is not None and watched.resume_at > watched.now and not changed and not watched.given_up:
            return False
        destination = await self._prepared(watched)
        position = max(watched.position, self._read or 0)
        turn = Turn(watched, position, self._doubtful)
        try:
            more = await self._work(turn, destination, safe)
            if turn.worth_writing(_MOVE_EVERY, _MOVE_PAST):
                await self._perform(lambda store: books.settle(store, watched, self.fence, turn.settlement))
        except BaseException:
            # Whether it was written down is not known: what the database says counts, and some may be sent once more.
            self._read = None
            self._ahead.clear()
            raise
        self._read = turn.settlement.position
        self._ahead = {each for each in self._ahead | turn.handled if each > self._read}
        turn.tell(_log)
        # What was delivered may have been answered by something new to tell.
        return (more or turn.settlement.delivered > 0) and not turn.receiver.halted

    async def _work(self, turn: Turn, destination: Destination, safe: int) -> bool:
        watched, deadline = turn.watched, time.monotonic() + _TURN
        waiting: set[int | str] = set()
        left = False
        if watched.given_up:
            # In a turn of its own: what waits behind it is due then, and is sent by the next.
            await self._by_hand(turn)
            return True
        if watched.due_at is not None:
            waiting = await self._perform(lambda _: books.waiting(watched.uid))
            left = await self._again(turn, destination, deadline)
            waiting -= turn.through
        if self._may_read(turn, waiting):
            left |= await self._onward(turn, destination, safe, waiting, deadline)
        turn.end_probe()
        return left

    async def _onward(
        self, turn: Turn, destination: Destination, safe: int, waiting: set[int | str], deadline: float
    ) -> bool:
        """Send what follows the cursor, and move it; whether there is more behind."""
        watched, after = turn.watched, turn.settlement.position
        limit = 1 if turn.receiver.failures else PAGE
        page = await self._perform(lambda _: books.page(watched, after, safe, limit))
        facts, reached = page.facts, page.reached
        turn.groups.update(page.groups)
        ripe = list(takewhile(turn.rested, facts))
        if len(ripe) < len(facts):
            reached = (facts[len(ripe)].position or 1) - 1
        # What waited may stand ahead of the cursor: what this turn has sent already is not sent once more.
        done = self._ahead | turn.tried
        new = [fact for fact in ripe if turn.line(fact) not in waiting and fact.position not in done]
        await self._send(turn, destination, new, deadline)
        left = next((f for f in new if f.position not in turn.handled and turn.line(f) not in turn.blocked), None)
        position = turn.settlement.position = max(after, reached if left is None else (left.position or 1) - 1)
        turn.passed([fact for fact in ripe if (fact.position or 0) <= position], waiting, self._ahead)
        return after < turn.settlement.position < safe

    def _may_read(self, turn: Turn, waiting: set[int | str]) -> bool:
        if turn.receiver.halted or turn.settlement.stopped or self.stopping:
            return False
        blocked = waiting | turn.blocked
        return len(blocked) < MOST_PARKED and not (turn.strict and blocked)

    async def _again(self, turn: Turn, destination: Destination, deadline: float) -> bool:
        """Send what waited and is due, and what follows it in its line; whether some of it is left."""
        watched, most = turn.watched, 1 if turn.probing else _DUE_AT_ONCE

        async def one(row: Parked) -> None:
            cursor = turn.settlement.position
            behind = await self._perform(lambda _: books.behind(watched, row, cursor, _BEHIND_PAGE))
            turn.read(row, behind)
            for fact in behind.facts:
                former = row if fact.position == row.position else None
                if self._ended(turn, deadline) or not await self._deliver(turn, destination, fact, former):
                    break
            turn.progressed(row, behind)

        due = await self._perform(lambda _: books.due(watched.uid, most))
        await self._spread(destination, turn, [partial(one, row) for row in due])
        return len(due) == most or any(row.next_attempt_at <= watched.now for row in turn.settlement.parked)

    async def _by_hand(self, turn: Turn) -> None:
        """Give up what a person says, unsent."""
        watched, cursor = turn.watched, turn.settlement.position

        async def one(row: Parked) -> None:
            behind = await self._perform(lambda _: books.behind(watched, row, cursor, 1))
            turn.read(row, behind)
            if behind.facts and behind.facts[0].position == row.position:
                turn.given_up_by_hand(behind.facts[0], row)
            turn.progressed(row, behind)

        for row in await self._perform(lambda _: books.given_up_by_hand(watched.uid, _DUE_AT_ONCE)):
            await one(row)

    async def _send(self, turn: Turn, destination: Destination, facts: Sequence[Fact], deadline: float) -> None:
        async def one(line: Sequence[Fact]) -> None:
            for fact in line:
                if self._ended(turn, deadline) or not await self._deliver(turn, destination, fact, None):
                    return

        lines: dict[int | str, list[Fact]] = {}
        for fact in facts:
            lines.setdefault(turn.line(fact), []).append(fact)
        # One by one where the order of the ledger counts, else line by line.
        each = [[fact] for fact in facts] if turn.strict else list(lines.values())
        await self._spread(destination, turn, [partial(one, line) for line in each])

    async def _spread(
        self, destination: Destination, turn: Turn, jobs: Sequence[Callable[[], Awaitable[None]]]
    ) -> None:
        """Do jobs in their order, so many at once as the destination takes."""
        waiting = iter(jobs)

        async def hand() -> None:
            for job in waiting:
                await job()

        hands = 1 if turn.strict else min(destination.concurrency, len(jobs))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(hands):
                    group.create_task(hand())
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None

    async def _deliver(self, turn: Turn, destination: Destination, fact: Fact, former: Parked | None) -> bool:
        """Send one event; whether its line goes on."""
        watched = turn.watched
        source = watched.spec.source or f"/tenure/{watched.tenant_key}"
        event = cloud_event(fact, self._leavings.get(fact.type, _NOTHING), watched.tenant_key, source)
        return turn.heard(fact, await destination.deliver(event), former)

    def _ended(self, turn: Turn, deadline: float) -> bool:
        if turn.receiver.halted or turn.settlement.stopped or (turn.strict and turn.blocked):
            return True
        return self.stopping or time.monotonic() > deadline

    async def _prepared(self, watched: Watched) -> Destination:
        """The destination as the subscription says it at present, with the keys of the moment."""
        if self._destination is None or watched.seq != self._seq:
            keys = await self._perform(lambda _: books.keys(watched.uid))
            self._leavings = await self._perform(lambda _: storage.leavings())
            made_of = (watched.spec.destination, tuple(keys))
            if self._destination is None or made_of != self._made_of:
                await self.close()
                self._destination = destination_of(watched, keys, self._files, self._makers)
                self._made_of = made_of
            self._seq = watched.seq
        return self._destination


_NOTHING = Leaving(())
