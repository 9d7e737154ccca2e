"""Starts the parts of a worker, stops them in order."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import secrets
import signal
import socket
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from tenure.model import euid
from tenure.model.errors import TenureError
from tenure.model.queue import STEP_TEMPLATE, QueuePolicy
from tenure.model.requests import validated
from tenure.model.states import WorkerStatus
from tenure.model.worker import Worker as WorkerRow
from tenure.model.worker import WorkerSpec, told
from tenure.sdk.http.address import Address
from tenure.sdk.http.operations import NotOverHttp
from tenure.sdk.http.problem import TurnedAway
from tenure.sdk.settings import Clock
from tenure.sdk.worker.acknowledger import Acknowledger
from tenure.sdk.worker.database import DatabaseTransport
from tenure.sdk.worker.dispatcher import Dispatcher
from tenure.sdk.worker.executing import Executing
from tenure.sdk.worker.holding import Holding
from tenure.sdk.worker.keeper import Keeper
from tenure.sdk.worker.options import WorkerOptions
from tenure.sdk.worker.over_http import HttpTransport
from tenure.sdk.worker.threads import Threads
from tenure.sdk.worker.transport import Hints, Transport

if TYPE_CHECKING:
    from tenure.sdk.client import AsyncTenure, Tenure

_log = logging.getLogger("tenure.worker")
_PATIENCE = 5.0
_ONE_WISH = 0.5
"""Seconds. Who starts processes often passes on the Ctrl-C that the terminal has sent them: that is no second one."""
_OBJECTS_OF_A_BATCH = 10000


class Worker:
    """Runs the tasks of a client (S1 section 5.5; design 06, SDK).

    Options are those of ``WorkerOptions``. ``run`` works until SIGTERM or SIGINT, ``serve`` until canceled or stopped.
    With an ``address``, or for a client that has one, it works over HTTP alone (design 06, HTTP API).
    """

    def __init__(self, client: Tenure | AsyncTenure, *, address: Address | None = None, **options: Any) -> None:
        self.options = validated(WorkerOptions, **options)
        self._address = address
        self.tasks = client.tasks
        self._client = client
        self._stopping: asyncio.Event | None = None
        self._hurry: asyncio.Event | None = None
        self._by_signals = False
        self._signalled_at = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self.reason = ""
        self.left = 0
        """How many handlers still ran when it had stopped."""
        self.ready = asyncio.Event()
        self.row: WorkerRow | None = None
        self._parts: tuple[Dispatcher, Acknowledger, Keeper, Hints] | None = None

    def run(self, *, leave: Callable[[], None] | None = None) -> None:
        """Work in this thread until SIGTERM or SIGINT; then stop gracefully. A second signal ends the grace at once.

        ``leave`` is called where handlers still run when the worker has stopped: it may end the process, as its owner.
        Without it, coroutines are waited for; plain functions end with the process.
        """
        asyncio.run(self._run(leave))

    async def _run(self, leave: Callable[[], None] | None) -> None:
        loop = asyncio.get_running_loop()
        # What coroutines do in threads keeps nobody, either.
        loop.set_default_executor(Threads(min(32, (os.cpu_count() or 1) + 4), "asyncio"))
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self._signalled, signal.Signals(number).name)
                self._by_signals = True
        await self.serve()
        if self.left and leave is not None:
            leave()

    def _signalled(self, name: str) -> None:
        assert self._stopping is not None
        assert self._hurry is not None
        if not self._stopping.is_set():
            self._signalled_at = time.monotonic()
            self.stop(name)
        elif not self._hurry.is_set() and time.monotonic() > self._signalled_at + _ONE_WISH:
            _log.info("Stopping at once: %s.", name)
            self._hurry.set()

    def stop(self, reason: str = "asked to") -> None:
        """Ask it to stop gracefully; from the loop, or by ``call_soon_threadsafe`` from elsewhere."""
        if self._stopping is not None and not self._stopping.is_set():
            self.reason = reason
            _log.info("Stopping: %s.", reason.rstrip("."))
            self._stopping.set()

    def stop_from_thread(self, reason: str = "asked to") -> None:
        """The same from another thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.stop, reason)

    async def serve(self) -> None:
        """Register, work, and stop gracefully once asked to."""
        _spare_the_collector()
        self._stopping, self._hurry = asyncio.Event(), asyncio.Event()
        self.left = 0
        self._loop = asyncio.get_running_loop()
        transport, clock = await self._transport()
        try:
            await self._serve(transport, clock)
        finally:
            await transport.close()

    async def _transport(self) -> tuple[Transport, Clock | None]:
        address = self._address or self._client.address
        if address is not None:
            return HttpTransport(address), None
        settings = await asyncio.to_thread(lambda: self._client.settings)
        return DatabaseTransport(settings, self.options), settings.clock

    async def _serve(self, transport: Transport, clock: Clock | None) -> None:
        assert self._stopping is not None
        options = self.options
        wanted = list(options.queues) if options.queues is not None else self._task_queues()
        self._check_transactions()
        workflows = list(self._client.workflows.values())
        row = self.row = await transport.enroll(self._spec(wanted), self._policies(wanted), workflows)
        holding = Holding()
        hints = transport.hints
        acknowledger = Acknowledger(transport, row.uid, holding, hints.heard.set)
        executing = Executing(
            self.tasks,
            holding,
            acknowledger,
            concurrency=options.concurrency,
            processes=options.processes,
            clock=clock,
            steps=transport.steps,
            transacting=transport.transacting,
        )
        keeper = Keeper(
            transport, row, holding, self.stop, sweep_interval=options.sweep_interval,
            lease_ttl_seconds=options.lease_ttl_seconds,
        )  # fmt: skip
        dispatcher = Dispatcher(transport, keeper, holding, executing, options, wanted, self.stop)
        self._parts = (dispatcher, acknowledger, keeper, hints)
        _log.info(
            "Worker %s (%s) serves %s, connected %s.", row.worker_key, euid.format_euid(euid.WORKER, row.uid),
            ", ".join(wanted) or "no queue", transport.described,
        )  # fmt: skip
        duties = {"dispatcher": dispatcher.run(), "acknowledger": acknowledger.run(), "listener": transport.listen()}
        parts = [_named(work, name) for name, work in (duties | keeper.duties()).items()]
        self.ready.set()
        try:
            await _until(self._stopping, parts)
            dispatcher.stop()
            await asyncio.gather(asyncio.wait(parts[:1], timeout=_PATIENCE), self._withdraw(transport, parts[2]))
            parts[0].cancel()
            await self._finish(holding, executing, acknowledger)
            await self._retire(transport, f"stopped: {self.reason}")
        except TurnedAway:
            dispatcher.stop()
            # Nothing can be reported any more: whoever holds the leases next begins anew.
            for held in holding.all():
                holding.lose(held)
            raise
        except BaseException as error:
            dispatcher.stop()
            parts[2].cancel()
            await self._retire(transport, f"ended by {type(error).__name__}")
            raise
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
            self.left = await executing.close() + _going_on(holding)
            if self.left:
                rest = "was left; its lease runs out" if self.left == 1 else "were left; their leases run out"
                _log.warning("%s %s.", _handlers(self.left), rest)

    async def _finish(self, holding: Holding, executing: Executing, acknowledger: Acknowledger) -> None:
        """Give back what has not begun, wait for what has, then give back what can still be stopped."""
        executing.give_back()
        grace = self.options.grace
        if running := _at_work(holding):
            if grace:
                again = "; again to stop at once" if self._by_signals else ""
                _log.info("Waiting up to %g s for %s%s.", grace, _handlers(len(running)), again)
            await self._patiently(running, grace)
        if late := _at_work(holding):
            for work in late:
                work.cancel()
            await asyncio.wait(late, timeout=_PATIENCE)
        settled = [_named(acknowledger.settled(), "settled")]
        await asyncio.wait(settled, timeout=_PATIENCE)
        if not settled[0].done():
            await self._patiently(settled, grace - _PATIENCE)
        if not settled[0].done():
            settled[0].cancel()
            _log.warning("The last reports could not be sent; their leases will run out.")

    async def _patiently(self, work: Sequence[asyncio.Task[None]], seconds: float) -> None:
        """Wait for all of it so long, or until somebody is in a hurry."""
        assert self._hurry is not None
        done = asyncio.ensure_future(asyncio.wait(work))
        hurry = _named(_wait(self._hurry), "hurry")
        await asyncio.wait({done, hurry}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for each in (done, hurry):
            each.cancel()

    async def _withdraw(self, transport: Transport, listener: asyncio.Task[None]) -> None:
        """Be given nothing more, and know all that was given."""
        listener.cancel()
        await asyncio.wait([listener], timeout=_PATIENCE)
        if listener.done():
            try:
                async with asyncio.timeout(_PATIENCE):
                    await transport.withdraw()
            except Exception as error:  # whatever it is, what has begun is still to be finished
                _log.warning("What was given last could not be asked for: %s Its leases will run out.", error)

    async def _retire(self, transport: Transport, reason: str) -> None:
        """Say that it is gone, so that nobody counts on it until its heartbeat is too old. A key that was given stays."""
        if self.options.worker_key is None:
            with contextlib.suppress(TenureError, TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    await transport.retire(reason)

    def _task_queues(self) -> list[str]:
        return sorted({task.options.queue for task in self.tasks.values()})

    def _policies(self, wanted: Sequence[str]) -> list[QueuePolicy]:
        """Policies for queues of tasks that nobody has defined yet."""
        codes: dict[str, set[str]] = {}
        for task in self.tasks.values():
            if task.options.queue in wanted:
                codes.setdefault(task.options.queue, {STEP_TEMPLATE}).add(task.options.template)
        return [QueuePolicy(queue_key=key, subject_template_codes=tuple(sorted(c))) for key, c in sorted(codes.items())]

    def _check_transactions(self) -> None:
        """Raises NotOverHttp where a task takes part in a transaction that this worker cannot have."""
        tied = sorted(key for key, task in self.tasks.items() if task.transaction_parameter is not None)
        if tied and (self._address or self._client.address) is not None:
            raise NotOverHttp(
                f"Task {tied[0]!r} takes a connection, and this worker reaches Tenure over HTTP.",
                "Run it by a worker with a DSN, or write elsewhere and return a reference.",
                tasks=tied[:20],
            )

    def _spec(self, wanted: Sequence[str]) -> WorkerSpec:
        options = self.options
        defined = (f"{name}@{version}" for name, version in self._client.workflows)
        queues, tasks, workflows = told(wanted, self.tasks, defined)
        host = socket.gethostname()
        key = options.worker_key or f"worker://{host}/{os.getpid()}-{secrets.token_hex(3)}"
        return validated(
            WorkerSpec, worker_key=key, display_name=options.display_name or key, worker_type=options.worker_type,
            capabilities=tuple(options.capabilities), site_scope=tuple(options.site_scope),
            platform_scope=tuple(options.platform_scope), assay_scope=tuple(options.assay_scope),
            max_concurrent_leases=options.concurrency + options.prefetch,
            heartbeat_ttl_seconds=options.heartbeat_ttl_seconds, build_version=options.build_version, host=host,
            process_identity=str(os.getpid()), queues=queues, tasks=tasks, workflows=workflows,
        )  # fmt: skip

    @property
    def status(self) -> WorkerStatus | None:
        """What the worker is by its last heartbeat; None before it has registered."""
        return self._parts[2].worker.status if self._parts is not None else None

    @property
    def listening(self) -> bool:
        """Whether hints reach it; where not, it polls."""
        return self._parts is not None and self._parts[3].listening

    def report(self) -> Mapping[str, int]:
        """What the worker did so far, in numbers."""
        if self._parts is None:
            return {}
        dispatcher, acknowledger, keeper, hints = self._parts
        tally = acknowledger.tally
        return {
            "claims": dispatcher.claims, "claimed": dispatcher.claimed, "answered": dispatcher.answered,
            "completed": tally.completed, "failed": tally.failed, "deferred": tally.deferred,
            "released": tally.released, "refused": tally.refused, "dispatched": tally.dispatched,
            "renewals": keeper.renewals, "lost": keeper.lost, "swept": keeper.swept, "hints": hints.count,
        }  # fmt: skip


@cache
def _spare_the_collector() -> None:
    """Once in a process: what is there when work begins is there for good, and is not looked through again and again.

    Nor is what a batch of jobs holds while they run: it is let go of when they are reported, without the collector.
    """
    gc.collect()
    gc.freeze()
    young, *older = gc.get_threshold()
    if 0 < young < _OBJECTS_OF_A_BATCH:
        gc.set_threshold(_OBJECTS_OF_A_BATCH, *older)


def _at_work(holding: Holding) -> list[asyncio.Task[None]]:
    return [held.running for held in holding.all() if held.started and held.running and not held.running.done()]


def _going_on(holding: Holding) -> int:
    """Coroutines that were canceled and still run. Of plain functions, threads and processes know."""
    return sum(held.stoppable and held.running in _at_work(holding) for held in holding.all())


def _handlers(count: int) -> str:
    return "1 handler" if count == 1 else f"{count:,} handlers"


async def _until(stopping: asyncio.Event, parts: Sequence[asyncio.Task[None]]) -> None:
    """Wait until asked to stop; a part that fails is raised, one that ends (a listener behind a pooler) is fine."""
    asked = _named(_wait(stopping), "stopping")
    pending: set[asyncio.Task[None]] = {asked, *parts}
    try:
        while not asked.done():
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for part in done:
                part.result()
    finally:
        asked.cancel()


async def _wait(event: asyncio.Event) -> None:
    await event.wait()


def _named(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
    return asyncio.get_running_loop().create_task(work, name=name)
