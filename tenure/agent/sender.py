"""Sends what the outbox owes: at least once, an execution's events in their order, patiently."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from tenure.agent.backoff import pause_after
from tenure.agent.bell import Bell
from tenure.agent.door import Answer, Door, Fate
from tenure.agent.settings import DeliverySettings
from tenure.agent.store.rows import OutboxEvent
from tenure.agent.store.store import Store
from tenure.agent.telling import LOG, tell_event
from tenure.model.errors import TenureError

_BATCH = 100
#: With more than so many for each sender, they go in batches.
_FEW = 4
_IDLE_SECONDS = 60.0
_TOLD_EACH = 20


class Sender:
    """A task of the agent's event loop."""

    def __init__(self, door: Door, store: Store, settings: DeliverySettings, clock: Callable[[], float]) -> None:
        self.bell = Bell()
        self._door, self._store, self._settings, self._clock = door, store, settings, clock
        self._failures = 0

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            try:
                wait = await self._round()
            except TenureError as error:  # the agent's own file: what was sent is sent again
                LOG.error("%s", error)
                wait = self._settings.slowest_seconds
            if wait > 0:
                await self.bell.heard(wait)

    async def _round(self) -> float:
        """Send what is due; for how long there is nothing to do then."""
        due = await asyncio.to_thread(self._store.due_events, self._clock(), _BATCH)
        if not due:
            at = await asyncio.to_thread(self._store.next_due_event)
            return _IDLE_SECONDS if at is None else max(at - self._clock(), 0.01)
        answers = await self._sent(due)
        await asyncio.to_thread(self._write_down, due, answers)
        if all(answer.reached and answer.wait is None for answer in answers):
            self._failures = 0
            return 0.0
        # Nobody answers, or the server asks for peace: that holds for all of them.
        asked = max((answer.wait or 0.0 for answer in answers), default=0.0)
        pause = pause_after(self._failures, self._settings.first_delay_seconds, self._settings.slowest_seconds, asked)
        self._failures += 1
        await asyncio.sleep(pause)
        return 0.0

    async def _sent(self, due: list[OutboxEvent]) -> list[Answer]:
        if len(due) > _FEW * self._settings.at_once:
            # One event of each execution: what became of it is known before the next one leaves.
            answers = await self._door.send_many([event.body for event in due])
            if answers is not None:
                return answers
        room = asyncio.Semaphore(self._settings.at_once)

        async def send(event: OutboxEvent) -> Answer:
            async with room:
                return await self._door.send(event.body)

        return list(await asyncio.gather(*map(send, due)))

    def _write_down(self, events: list[OutboxEvent], answers: list[Answer]) -> None:
        now = self._clock()
        delivered: list[str] = []
        for event, answer in zip(events, answers, strict=True):
            if answer.fate is Fate.DELIVERED:
                delivered.append(event.event_id)
                tell_event(event.body, "delivered", "")
            elif answer.fate is Fate.REFUSED:
                self._store.settle([event.event_id], "parked", answer.said, now)
                tell_event(event.body, "parked", answer.said, logging.ERROR)
            else:
                pause = pause_after(
                    event.attempts, self._settings.first_delay_seconds, self._settings.slowest_seconds, answer.wait
                )
                # Where nobody answered, all wait together, and none of them for longer than the others.
                self._store.postpone(event.event_id, now + pause if answer.reached else 0.0, answer.said)
                # An outage of a day is not told a thousand times for each event.
                level = logging.WARNING if event.attempts % _TOLD_EACH == 0 else logging.DEBUG
                tell_event(event.body, "postponed", answer.said, level)
        if delivered:
            self._store.settle(delivered, "delivered", None, now)
