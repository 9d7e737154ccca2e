"""Asks the server for work, again and again: a long poll that is heartbeat, claim and news of cancellations in one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from tenure.agent import progress
from tenure.agent.backoff import pause_after
from tenure.agent.bell import Bell
from tenure.agent.door import Door
from tenure.agent.errors import AnotherAgent, StateFolderUnusable, Superseded
from tenure.agent.execution import WITH_JOB, Execution
from tenure.agent.lease import NodeLease
from tenure.agent.requests import DRAIN_TOLD
from tenure.agent.sentences import sentence_if_any
from tenure.agent.settings import AgentSettings
from tenure.agent.standing import DISK, SCHEDULER, SERVER, STATE, Standing
from tenure.agent.store.store import Store
from tenure.agent.telling import LOG, tell
from tenure.model.errors import TenureError
from tenure.remote.model.contracts import NodeOrders, NodePoll

_MOST = 500
_MOST_TOLD = 5000
_FIRST, _LONGEST = 1.0, 60.0
#: Between two polls of which neither had news.
_LEAST_SECONDS = 1.0
_NOTE_SECONDS = 10.0
_HEED_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class AgentNames:
    """Who polls: the id of this process, and that of the state folder in which it works."""

    agent_id: str
    folder_id: str


class Orders:
    """A task of the agent's event loop."""

    def __init__(
        self, door: Door, store: Store, settings: AgentSettings, standing: Standing, lease: NodeLease, names: AgentNames,
        clock: Callable[[], float],
    ) -> None:  # fmt: skip
        self.bell = Bell()
        self._door, self._store, self._settings, self._standing = door, store, settings, standing
        self._lease, self._names, self._clock = lease, names, clock
        self._unknown: set[str] = set()
        self._drain_told = False
        self._noted = float("-inf")

    async def run(self) -> None:
        """Until it is cancelled. Raises AnotherAgent, Superseded where another agent is the node."""
        failures = 0
        while True:
            begun = time.monotonic()
            try:
                news = await self._once()
                failures = 0
                self._standing.fine(SERVER)
                self._note_contact()
                pause = 0.0 if news else _LEAST_SECONDS - (time.monotonic() - begun)
            except (AnotherAgent, Superseded):
                raise
            except StateFolderUnusable as error:  # what was given could not be written down: it is given again
                self._standing.troubled(STATE, str(error))
                pause = pause_after(failures, _FIRST, _LONGEST)
                failures += 1
            except TenureError as error:
                self._standing.troubled(SERVER, f"The server gives no work ({error.code}): {error}")
                wait = error.evidence.get("retry_after")
                pause = pause_after(failures, _FIRST, _LONGEST, wait if isinstance(wait, int | float) else None)
                failures += 1
            if pause > 0:
                await asyncio.sleep(pause)

    async def _once(self) -> bool:
        """One poll; whether there was news. It is broken off where what it said is no longer so."""
        said = await asyncio.to_thread(self._said)
        asked_at, said_at = self._lease.now(), self._clock()
        asking = asyncio.create_task(self._door.poll(said))
        try:
            while not asking.done():
                hearing = asyncio.create_task(self.bell.heard())
                await asyncio.wait({asking, hearing}, return_when=asyncio.FIRST_COMPLETED)
                hearing.cancel()
                if not asking.done():
                    await asyncio.wait({asking}, timeout=_HEED_SECONDS)  # much changes at once: one look at all of it
                if not asking.done() and _differs(said, await asyncio.to_thread(self._said)):
                    return True
            orders = await asking
            news = await asyncio.to_thread(self._obey, orders)
            self._lease.confirmed(asked_at, orders.submit_within_seconds)
            self._drain_told = said.draining
            if said.draining:  # after what came with it was written down: whoever waits for the end sees it
                await asyncio.to_thread(self._store.set_condition, DRAIN_TOLD, self._names.agent_id, said_at)
            return news
        finally:
            asking.cancel()

    def _said(self) -> NodePoll:
        held = self._store.open_executions()
        room = self._settings.max_executions - len(held)
        # What holds a job at its scheduler is for somebody to see to, while other work goes on; an input that is late, or a full
        # store, is not. The node's own disk keeps it from taking work, as a scheduler does that does not answer.
        own = next(filter(None, map(self._standing.problem, (SCHEDULER, DISK, STATE))), None)
        stuck = (_of_job(each) for each in held if each.stage in WITH_JOB and each.problem)
        ids = [each.execution_id for each in held]
        canceling = [each.execution_id for each in held if each.cancel_at is not None]
        untold = self._standing.draining and not self._drain_told
        return NodePoll(
            agent_id=self._names.agent_id, folder_id=self._names.folder_id,
            accepting=min(max(room, 0), _MOST) if self._standing.accepts() else 0,
            # Before the answer nothing is submitted, also of what was prepared before a restart; and somebody may wait for the
            # server to know that nothing more is taken.
            wait_seconds=self._settings.poll_seconds if self._lease.holds() and not untold else 0.0,
            holding=tuple((ids + self._store.owing())[:_MOST_TOLD]),
            canceling=tuple((canceling + sorted(self._unknown))[:_MOST_TOLD]), draining=self._standing.draining,
            scheduler=self._standing.scheduler_name,
            scheduler_problem=sentence_if_any(own), job_problem=sentence_if_any(next(stuck, None)),
        )  # fmt: skip

    def _obey(self, orders: NodeOrders) -> bool:
        now = self._clock()
        new = self._store.receive(orders.work, now)
        for execution_id in new:
            if execution := self._store.execution(execution_id):
                tell(execution, "was received.")
        news = bool(new)
        for execution_id in orders.cancel:
            if execution_id in self._unknown:
                continue
            before = self._store.execution(execution_id)
            after = self._store.change(execution_id, lambda execution: progress.cancel_asked(execution, now), now)
            if after is None:
                self._unknown.add(execution_id)
                LOG.warning("The server wants the end of execution %s, which this agent does not know.", execution_id)
            elif before is not None and before.cancel_at is None and after.cancel_at is not None:
                tell(after, "is to be canceled.")
                news = True
        return news

    def _note_contact(self) -> None:
        if time.monotonic() - self._noted >= _NOTE_SECONDS:
            self._noted = time.monotonic()
            self._standing.note("last_contact", self._names.agent_id)


def _differs(asked: NodePoll, now: NodePoll) -> bool:
    """Whether the server should hear at once: whether work is of use, and what is wrong. The rest has time."""
    return (asked.accepting > 0, asked.draining, asked.scheduler_problem, asked.job_problem, asked.scheduler) != (
        now.accepting > 0, now.draining, now.scheduler_problem, now.job_problem, now.scheduler,
    )  # fmt: skip


def _of_job(execution: Execution) -> str:
    work = execution.work
    return f"Execution {work.attempt} of submission {work.submission_id}: {execution.problem}"
