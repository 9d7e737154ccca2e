"""Runs handlers of held leases: coroutines in the loop, plain functions in threads or processes."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import deque
from collections.abc import Coroutine, Mapping
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import SpanKind
from opentelemetry.util.types import AttributeValue

from tenure.engine.logging import where
from tenure.engine.tracing import exporting, span
from tenure.model.requests import ReleaseLease
from tenure.model.states import ErrorClass
from tenure.sdk.durable import Reach
from tenure.sdk.settings import Clock
from tenure.sdk.steps import Steps
from tenure.sdk.tasks import Task
from tenure.sdk.worker.acknowledger import Acknowledger
from tenure.sdk.worker.elsewhere import Elsewhere
from tenure.sdk.worker.gate import Gate
from tenure.sdk.worker.holding import Held, Holding
from tenure.sdk.worker.transacting import Transacting
from tenure.sdk.worker.transport import Report
from tenure.sdk.worker.verdict import done, failed, raised
from tenure.store.tracing import span_context

_log = logging.getLogger("tenure.worker")
_EAGER = sys.version_info >= (3, 12)


class Executing:
    """Starts handlers, at most ``concurrency`` at once, ``key_limit`` for one key and ``processes`` in processes."""

    def __init__(
        self, tasks: Mapping[str, Task[..., Any]], holding: Holding, acknowledger: Acknowledger, *,
        concurrency: int, processes: int, clock: Clock | None, steps: Steps,
        transacting: Transacting | None = None,
    ) -> None:  # fmt: skip
        self._tasks = tasks
        self._holding = holding
        self._acknowledger = acknowledger
        self._concurrency = concurrency
        self._clock = clock
        self._steps = steps
        self._transacting = transacting
        self._waiting: deque[Held] = deque()
        self._running = 0
        self._keys: dict[tuple[str, str], Gate] = {}
        self._processes = Gate(processes)
        self._elsewhere = Elsewhere(concurrency, processes)
        self._by_queue: dict[str, list[Task[..., Any]]] = {}
        for task in tasks.values():
            self._by_queue.setdefault(task.options.queue, []).append(task)
        self._loop = asyncio.get_running_loop()
        self._traces = exporting()

    def start(self, held: Held) -> None:
        """Run the handler of a lease, as soon as there is room."""
        task = held.task = self.task_for(held)
        if task is not None and (task.options.limit_key is not None or task.executor == "process"):
            try:
                held.gates = self._gates(task, held)
            except BaseException as error:
                self._acknowledger.report(held, raised(held, error, self._clock))
                return
        self._pass(held)

    def give_back(self) -> None:
        """Release what no handler has begun with."""
        self._waiting.clear()
        for held in self._holding.all():
            if not held.started and not held.reported:
                self._acknowledger.report(held, _release(held))

    def _gates(self, task: Task[..., Any], held: Held) -> list[Gate]:
        gates = []
        if task.options.limit_key is not None:
            name = (task.key, str(task.options.limit_key(held.item.properties)))
            if (gate := self._keys.get(name)) is None:
                self._keys = {name: gate for name, gate in self._keys.items() if not gate.unused}
                gate = self._keys[name] = Gate(task.options.key_limit)
            gates.append(gate)
        if task.executor == "process":
            gates.append(self._processes)
        return gates

    def _pass(self, held: Held) -> None:
        """Go through the gates that are left, in order, then to those that wait for a place."""
        while held.passed < len(held.gates):
            if not held.gates[held.passed].enter(held):
                return
            held.passed += 1
        self._waiting.append(held)
        self._launch()

    def _launch(self) -> None:
        """Begin with those that wait, in order; one that ends at once makes room within the loop."""
        while self._waiting and self._running < self._concurrency:
            held = self._waiting.popleft()
            self._running += 1
            work = self._work(held)
            if _EAGER:
                running = asyncio.Task(work, loop=self._loop, eager_start=True)  # type: ignore[call-arg, unused-ignore]
                if not running.done():
                    held.running = running
            else:
                held.running = self._loop.create_task(work)

    async def _work(self, held: Held) -> None:
        try:
            report = await self._run(held)
            if report is not None:
                self._acknowledger.report(held, report)
        except asyncio.CancelledError:
            # A plain function cannot be stopped: its lease is left to run out rather than given to somebody else now.
            if held.stoppable and not held.job.told_lost:
                self._acknowledger.report(held, _release(held))
        except BaseException as error:
            # Of a lease that nobody reports nobody would hear again: it is renewed for as long as the worker lives.
            _log.exception("%s: what became of it cannot be told as it is.", held.job.lease)
            if not held.reported and not held.job.told_lost:
                message = f"What became of it cannot be told as it is: {where(error)}"
                self._acknowledger.report(
                    held, failed(held, ErrorClass.TRANSIENT_SYSTEM, type(error).__name__, message)
                )
        finally:
            self._running -= 1
            if held.gates:
                self._leave(held)
            if self._waiting:
                self._loop.call_soon(self._launch)

    def _leave(self, held: Held) -> None:
        for gate in held.gates:
            if (following := gate.leave()) is not None:
                following.passed += 1
                self._loop.call_soon(self._pass, following)

    async def _run(self, held: Held) -> Report | None:
        if held.reported:
            return None
        if held.job.lost:
            self._holding.forget(held)
            return None
        task = held.task
        if task is None:
            return _no_task(held)
        held.started = True
        try:
            arguments = task.arguments(held.item.properties)
            value = await (self._traced(task, held, arguments) if self._traces else self._call(task, held, arguments))
            if task.transaction_parameter is not None:
                self._acknowledger.note_done(held)
                return None
            report = done(task, held, value)
        except asyncio.CancelledError as error:
            if (current := asyncio.current_task()) is None or current.cancelling():
                raise
            # The handler let out a cancellation of its own making.
            report = raised(held, error, self._clock)
        except BaseException as error:
            # Whatever it is. KeyboardInterrupt and SystemExit, let out of a task, would end the loop and all that is in it.
            report = raised(held, error, self._clock)
        if _lost(held):
            # Whatever it did is not reported: the work may be with another worker.
            self._holding.forget(held)
            return None
        return report

    def _call(self, task: Task[..., Any], held: Held, arguments: dict[str, Any]) -> Coroutine[Any, Any, Any]:
        if task.job_parameter is not None:
            arguments[task.job_parameter] = held.job
            held.job.reach = Reach(self._steps, self._loop)
        if task.transaction_parameter is not None and self._transacting is not None:
            if task.executor == "async":
                return self._transacting.call_async(task, held, arguments)
            return self._elsewhere.in_thread(self._transacting.call, task, held, arguments)
        if task.executor == "async":
            coroutine: Coroutine[Any, Any, Any] = task.function(**arguments)
            return coroutine
        return self._elsewhere.call(task, arguments)

    async def _traced(self, task: Task[..., Any], held: Held, arguments: dict[str, Any]) -> Any:
        """The call in a span of its own, linked to where the subject was submitted."""
        submitted = span_context(held.item.submitted_in)
        attributes: dict[str, AttributeValue] = {
            "tenure.subject": held.job.subject, "tenure.lease": held.job.lease, "tenure.queue_key": held.item.queue_key,
            "tenure.action_key": task.key, "tenure.attempt_number": held.item.attempt_number,
        }  # fmt: skip
        links = [submitted] if submitted is not None else []
        with span("tenure.execute", attributes, kind=SpanKind.CONSUMER, links=links, context=Context()) as current:
            held.span = current.get_span_context()
            return await self._call(task, held, arguments)

    def task_for(self, held: Held) -> Task[..., Any] | None:
        """The task that the subject names, or the only one of its queue."""
        key = held.item.next_action_key
        if key is not None:
            return self._tasks.get(key)
        candidates = self._by_queue.get(held.item.queue_key, [])
        return candidates[0] if len(candidates) == 1 else None

    async def close(self) -> int:
        """Let go of threads and processes; how many plain functions still ran. They are not waited for."""
        return await self._elsewhere.close()


def _lost(held: Held) -> bool:
    # Asked again after the handler: a checker that saw it False before does not know that time has passed.
    return held.job.lost


def _release(held: Held) -> ReleaseLease:
    return ReleaseLease(lease=held.item.lease, worker=held.item.worker, token_hash=held.token.digest, reason="STOPPING")


def _no_task(held: Held) -> Report:
    wanted = held.item.next_action_key
    message = f"This worker has no task {wanted!r}." if wanted else "The queue has no single task for it."
    return failed(held, ErrorClass.TRANSIENT_SYSTEM, "no_task", message)
