"""The agent: its parts put together, started, and stopped (design 04, Management-node agent).

Threads: one for the scheduler, one for HTTP (an event loop with two tasks: orders, sender), and workshops that fetch inputs
and collect results. What they know of each other is the store: who changes it rings for the others.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from tenure.agent.bell import Bell
from tenure.agent.collecting import Collecting
from tenure.agent.door import Door
from tenure.agent.doorbell import Doorbell
from tenure.agent.durable import try_writing
from tenure.agent.errors import AdapterMissing, AnotherAgent, InvalidSettings, Superseded
from tenure.agent.execution import Stage
from tenure.agent.folder import claim_folder
from tenure.agent.housekeeping import tidy
from tenure.agent.lease import NodeLease
from tenure.agent.lock import StateLock
from tenure.agent.orders import AgentNames, Orders
from tenure.agent.preparing import Preparing
from tenure.agent.requests import Requests
from tenure.agent.scheduler import Scheduler
from tenure.agent.scheduling import Scheduling
from tenure.agent.sender import Sender
from tenure.agent.sentences import reason_of
from tenure.agent.settings import AgentSettings
from tenure.agent.standing import DISK, RUNG, SCHEDULER, STATE, Standing
from tenure.agent.store.store import Store
from tenure.agent.telling import LOG, tell_defect
from tenure.agent.workshop import Workshop
from tenure.model.errors import TenureError
from tenure.sdk.http.address import Address

_TICK = 1.0
_TIDY_SECONDS, _NOTE_SECONDS = 3600.0, 10.0
_AFTER_A_DEFECT = 5.0
_FETCHES, _COLLECTIONS = 4, 2
_JOIN_SECONDS = 60.0


class Agent:
    """One process's agent for one node. ``run`` returns when it was asked to stop; jobs go on.

    Raises StateFolderInUse, StateTooNew, StateFolderUnusable at once; AnotherAgent where the node has an agent in another state
    folder; Superseded when such a one took the node over.
    """

    def __init__(
        self, settings: AgentSettings, address: Address, scheduler: Scheduler, clock: Callable[[], float] = time.time
    ) -> None:
        self.agent_id = str(uuid.uuid4())
        self._settings, self._address, self._clock = settings, address, clock
        self._stop = threading.Event()
        self._trouble: BaseException | None = None
        self._lock = StateLock(settings.folder)
        self._lock.take()
        self._at_scheduler, self._at_inputs, self._at_results = Bell(), Bell(), Bell()
        self._outward: list[Bell] = []
        try:
            self._store = Store(settings.folder, self._ring)
            self._folder_id = claim_folder(self._store, settings, clock())
        except BaseException:
            self._lock.release()
            raise
        self._standing = Standing(self._store, clock, self._ring)
        self._requests = Requests(self._store, self._standing, clock)
        self._lease = NodeLease(self._ring)
        stopping = self._stop.is_set
        self._scheduling = Scheduling(scheduler, self._store, settings, self._standing, self._lease, clock, stopping)
        self._inputs = Workshop(
            "inputs", Stage.RECEIVED, Preparing(self._store, settings, self._standing, clock, stopping), self._store,
            clock, self._at_inputs.ring, at_once=_FETCHES,
        )  # fmt: skip
        self._doorbell = Doorbell(settings.bell)
        self._noted = float("-inf")
        self._results = Workshop(
            "results", Stage.COLLECTING, Collecting(self._store, settings, clock, stopping), self._store, clock,
            self._at_results.ring, at_once=_COLLECTIONS,
        )  # fmt: skip

    def stop(self, *_: object) -> None:
        """End ``run`` soon. May be called from any thread, and from a signal's handler."""
        self._stop.set()

    def run(self) -> None:
        """Work until ``stop``."""
        LOG.info(
            "Agent %s of node %s: %s, state in %s, server %s.", self.agent_id, self._settings.node, self._settings.kind,
            self._settings.folder, self._address.url,
        )  # fmt: skip
        self._standing.note("agent", self.agent_id)
        with suppress(TenureError):  # is told when it is tried again
            self._requests.see_to()  # what was asked while no agent ran holds from the first poll on
        threads = [
            threading.Thread(target=self._loop, args=(step, bell), name=f"tenure-{name}")
            for name, step, bell in (
                ("scheduler", self._scheduling.step, self._at_scheduler),
                ("inputs", self._inputs.step, self._at_inputs),
                ("results", self._results.step, self._at_results),
            )
        ]
        threads.append(threading.Thread(target=self._outwards, name="tenure-http"))
        for thread in threads:
            thread.start()
        try:
            self._look_after()
        finally:
            self._stop.set()
            self._ring()
            for thread in threads:
                thread.join(_JOIN_SECONDS)
            self._inputs.close()
            self._results.close()
            self._scheduling.close()
            self._standing.note("stopped", self.agent_id)
            self._store.close()
            if not any(thread.is_alive() for thread in threads):
                self._lock.release()  # else the kernel does, once what one of them waits for has come to its end
        if self._trouble is not None:
            raise self._trouble
        LOG.info("Agent %s has stopped. Jobs go on; they are taken up again when it is started.", self.agent_id)

    def _look_after(self) -> None:
        """What is to be done now and then."""
        tidied = float("-inf")
        self._doorbell.hang()
        while not self._stop.wait(_TICK):
            try:
                self._requests.see_to()
                self._listen()
                if self._standing.problem(STATE) is not None:
                    self._store.set_condition("written", self.agent_id, self._clock())
                    self._standing.fine(STATE)
                self._look_at_the_disk()
                if time.monotonic() - tidied > _TIDY_SECONDS:
                    tidied = time.monotonic()
                    tidy(self._store, self._settings, self._clock(), self._stop.is_set)
            except TenureError as error:
                self._standing.troubled(STATE, str(error))
            except Exception as error:
                self._defect(error)

    def _look_at_the_disk(self) -> None:
        """Whether it takes files again. Nobody else would see: what did not fit may be gone, and no new work comes."""
        if self._standing.problem(DISK) is None:
            return
        with suppress(OSError):
            try_writing(self._settings.work_folder)
            self._standing.fine(DISK)

    def _listen(self) -> None:
        """Ask the scheduler at once where a site's Prolog or Epilog has rung."""
        if not self._doorbell.rung():
            return
        self._scheduling.rung()
        if self._standing.problem(SCHEDULER) is None:  # one that does not answer is left in peace
            self._at_scheduler.ring()
        if time.monotonic() - self._noted > _NOTE_SECONDS:
            self._noted = time.monotonic()
            self._standing.note(RUNG, self.agent_id)

    def _loop(self, step: Callable[[], float], bell: Bell) -> None:
        while not self._stop.is_set():
            try:
                wait = step()
            except (AdapterMissing, InvalidSettings) as error:  # will not pass by itself
                self._trouble = error
                self.stop()
                return
            except TenureError as error:  # its own file cannot be written: a full disk, most likely
                self._standing.troubled(STATE, str(error))
                self._stop.wait(_AFTER_A_DEFECT)
                continue
            except Exception as error:
                self._defect(error)
                continue
            if not self._stop.is_set():
                bell.wait(wait)

    def _defect(self, error: Exception) -> None:
        tell_defect(error, "This is a defect (%s); it is tried again. Jobs are not affected.", reason_of(error))
        self._stop.wait(_AFTER_A_DEFECT)

    def _outwards(self) -> None:
        try:
            asyncio.run(self._speak())
        except BaseException as error:
            self._trouble = error
            self._stop.set()

    async def _speak(self) -> None:
        door = Door(self._address, self._settings)
        names = AgentNames(self.agent_id, self._folder_id)
        orders = Orders(door, self._store, self._settings, self._standing, self._lease, names, self._clock)
        sender = Sender(door, self._store, self._settings.delivery, self._clock)
        stopped = Bell()
        self._outward = [orders.bell, sender.bell, stopped]
        tasks = [asyncio.create_task(orders.run()), asyncio.create_task(sender.run())]
        try:
            while not self._stop.is_set():
                hearing = asyncio.create_task(stopped.heard())
                await asyncio.wait({*tasks, hearing}, return_when=asyncio.FIRST_COMPLETED)
                hearing.cancel()
                for task in tasks:
                    if task.done():
                        await task  # raises why it ended
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await door.close()

    def _ring(self) -> None:
        for bell in (self._at_scheduler, self._at_inputs, self._at_results, *self._outward):
            bell.ring()


def run_until_signal(agent: Agent) -> None:
    """Run in the main thread; SIGTERM and SIGINT stop it. Raises what ``Agent.run`` raises."""

    def stop(number: int, _frame: FrameType | None) -> None:
        LOG.info("%s: stopping. Jobs go on.", signal.Signals(number).name)
        agent.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        agent.run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


__all__ = ["Agent", "AnotherAgent", "Superseded", "run_until_signal"]
