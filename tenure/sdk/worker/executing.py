"""Runs handlers: coroutines in the loop, plain functions in threads or processes; and turns what they did into reports."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import traceback
from collections import deque
from collections.abc import Coroutine, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import import_module
from typing import Any

from tenure.model.errors import InvalidPayload, TenureError
from tenure.model.json_text import payload_hash
from tenure.model.requests import (
    CompleteExecution,
    DeferExecution,
    DispatchExternal,
    FailExecution,
    ReleaseLease,
    validated,
)  # fmt: skip
from tenure.model.states import ErrorClass
from tenure.sdk.outcomes import Defer, Dispatched, Fail, Next, Produced, Retry
from tenure.sdk.settings import Clock
from tenure.sdk.tasks import Task
from tenure.sdk.worker.acknowledger import Acknowledger, Report
from tenure.sdk.worker.holding import Held, Holding
from tenure.store.records import Finish

_log = logging.getLogger("tenure.worker")
_NOTHING = payload_hash({})
_MESSAGE = 10_000
_EAGER = sys.version_info >= (3, 12)


class Executing:
    """Starts handlers of held leases, at most ``concurrency`` at once and ``key_limit`` for one key."""

    def __init__(
        self, tasks: Mapping[str, Task[..., Any]], holding: Holding, acknowledger: Acknowledger, worker: int, *,
        concurrency: int, processes: int, clock: Clock | None,
    ) -> None:  # fmt: skip
        self._tasks = tasks
        self._holding = holding
        self._acknowledger = acknowledger
        self._worker = worker
        self._concurrency = concurrency
        self._processes = processes
        self._clock = clock
        self._waiting: deque[Held] = deque()
        self._running = 0
        self._keys: dict[tuple[str, str], asyncio.Semaphore] = {}
        self._threads: Executor | None = None
        self._pool: Executor | None = None
        self._by_queue: dict[str, list[Task[..., Any]]] = {}
        for task in tasks.values():
            self._by_queue.setdefault(task.options.queue, []).append(task)
        self._loop = asyncio.get_running_loop()

    def start(self, held: Held) -> None:
        """Run the handler of a lease, as soon as there is room."""
        self._waiting.append(held)
        self._launch()

    def give_back(self) -> None:
        """Release what no handler has begun with."""
        while self._waiting:
            held = self._waiting.popleft()
            self._acknowledger.report(held, self._release(held, "STOPPING"))
        for held in self._holding.all():
            if not held.started and held.running is not None:
                held.running.cancel()

    def _launch(self) -> None:
        """Begin with those that wait, in order; one that ends at once makes room within the loop."""
        while self._waiting and self._running < self._concurrency:
            held = self._waiting.popleft()
            self._running += 1
            work = self._work(held)
            if _EAGER:
                held.running = asyncio.Task(work, loop=self._loop, eager_start=True)  # type: ignore[call-arg, unused-ignore]
            else:
                held.running = self._loop.create_task(work)

    async def _work(self, held: Held) -> None:
        task = self.task_for(held)
        try:
            if task is None:
                self._acknowledger.report(held, self._no_task(held))
            elif (limit := self._key_limit(task, held)) is not None:
                async with limit:
                    await self._run(task, held)
            else:
                await self._run(task, held)
        except asyncio.CancelledError:
            # A plain function cannot be stopped: its lease is left to run out rather than given to somebody else now.
            stoppable = not held.started or task is None or task.executor == "async"
            if stoppable and not held.job.told_lost:
                self._acknowledger.report(held, self._release(held, "STOPPING"))
        finally:
            self._running -= 1
            if self._waiting:
                self._loop.call_soon(self._launch)

    async def _run(self, task: Task[..., Any], held: Held) -> None:
        if held.job.lost:
            self._holding.lose(held)
            return
        held.started = True
        try:
            value = await self._call(task, held, task.arguments(held.item.properties))
            report = self._success(task, held, value)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            report = self._failure(held, error)
        if _lost(held):
            # Whatever it did is not reported: the work may be with another worker.
            self._holding.lose(held)
            return
        self._acknowledger.report(held, report)

    def _call(self, task: Task[..., Any], held: Held, arguments: dict[str, Any]) -> Coroutine[Any, Any, Any]:
        if task.job_parameter is not None and task.executor != "process":
            arguments[task.job_parameter] = held.job
        if task.executor == "async":
            coroutine: Coroutine[Any, Any, Any] = task.function(**arguments)
            return coroutine
        return self._elsewhere(task, arguments)

    async def _elsewhere(self, task: Task[..., Any], arguments: dict[str, Any]) -> Any:
        if task.executor == "thread":
            if self._threads is None:
                workers = min(self._concurrency, 64)
                self._threads = ThreadPoolExecutor(workers, thread_name_prefix="tenure-handler")
            return await self._loop.run_in_executor(self._threads, partial(task.function, **arguments))
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._processes)
        function = task.function
        return await self._loop.run_in_executor(
            self._pool, _in_process, function.__module__, function.__qualname__, arguments
        )

    def task_for(self, held: Held) -> Task[..., Any] | None:
        """The task that the subject names, or the only one of its queue."""
        key = held.item.next_action_key
        if key is not None:
            return self._tasks.get(key)
        candidates = self._by_queue.get(held.item.queue_key, [])
        return candidates[0] if len(candidates) == 1 else None

    def _key_limit(self, task: Task[..., Any], held: Held) -> asyncio.Semaphore | None:
        if task.options.limit_key is None:
            return None
        name = (task.key, task.options.limit_key(held.item.properties))
        return self._keys.setdefault(name, asyncio.Semaphore(task.options.key_limit))

    # What became of it -----------------------------------------------------------------------------------------------
    def _holder(self, held: Held) -> dict[str, Any]:
        return {"lease": held.item.lease, "worker": self._worker, "token_hash": held.token.digest}

    def _success(self, task: Task[..., Any], held: Held, value: Any) -> Report:
        if value is None:
            return Finish(held.item.lease, held.token.digest, _NOTHING)
        if isinstance(value, Next):
            return validated(
                CompleteExecution, **self._holder(held), result=value.result, next_queue_key=value.queue_key,
                next_action_key=value.action_key, ready_at=value.ready_at, outputs=tuple(value.outputs),
            )  # fmt: skip
        if isinstance(value, Produced):
            return validated(CompleteExecution, **self._holder(held), result=value.result, outputs=tuple(value.outputs))
        result = task.result(value)
        return Finish(held.item.lease, held.token.digest, payload_hash({"result": result}), result)

    def _failure(self, held: Held, error: Exception) -> Report:
        match error:
            case Defer():
                now = self._clock() if self._clock is not None else datetime.now(UTC)
                until = error.until or now + timedelta(seconds=error.seconds or 0)
                return validated(DeferExecution, **self._holder(held), until=until)
            case Dispatched():
                return validated(
                    DispatchExternal, **self._holder(held), external_ref=error.external_ref, deadline=error.deadline
                )
            case Retry():
                return self._failed(held, error.error_class, error.code, str(error), error.after_seconds)
            case Fail():
                return self._failed(held, error.error_class, error.code, str(error))
            case InvalidPayload():
                return self._failed(held, ErrorClass.PERMANENT_INPUT, error.code, error.message)
            case TenureError():
                return self._failed(held, ErrorClass.TRANSIENT_DEPENDENCY, error.code, error.message)
        text = "".join(traceback.format_exception(error))
        _log.info("%s: the handler raised %s", held.job.lease, type(error).__name__, exc_info=error)
        return self._failed(held, ErrorClass.TRANSIENT_SYSTEM, type(error).__name__, text)

    def _failed(
        self, held: Held, error_class: ErrorClass, code: str | None, message: str, after: float | None = None
    ) -> FailExecution:
        return FailExecution(
            **self._holder(held), error_class=error_class, error_code=code, error_message=message[-_MESSAGE:] or None,
            retry_after_seconds=after,
        )  # fmt: skip

    def _no_task(self, held: Held) -> FailExecution:
        wanted = held.item.next_action_key
        message = f"This worker has no task {wanted!r}." if wanted else "The queue has no single task for it."
        return self._failed(held, ErrorClass.TRANSIENT_SYSTEM, "no_task", message)

    def _release(self, held: Held, reason: str) -> ReleaseLease:
        return ReleaseLease(**self._holder(held), reason=reason)

    def close(self) -> None:
        """Let go of threads and processes; running functions are not waited for."""
        for pool in (self._threads, self._pool):
            if pool is not None:
                with contextlib.suppress(Exception):
                    pool.shutdown(wait=False, cancel_futures=True)


def _lost(held: Held) -> bool:
    return held.job.lost


def _in_process(module: str, qualname: str, arguments: dict[str, Any]) -> Any:
    """Call the function behind a task in another process, where only its name can go."""
    target: Any = import_module(module)
    for part in qualname.split("."):
        target = getattr(target, part)
    return (target.function if isinstance(target, Task) else target)(**arguments)
