"""Runs plain functions off the loop: in threads, or in processes where only names, arguments and results can go."""

from __future__ import annotations

import asyncio
import contextvars
import multiprocessing
import pickle  # nosec B403
import signal
import traceback
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from tenure.sdk.tasks import Task
from tenure.sdk.worker.threads import Threads

T = TypeVar("T")
_PATIENCE = 2.0


class FailedElsewhere(Exception):
    """An exception that could not be carried between processes: its name and its traceback as text."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name, text)
        self.name = name
        self.text = text


class Elsewhere:
    """Threads and processes, started when the first task asks for them."""

    def __init__(self, threads: int, processes: int) -> None:
        self._most_threads = threads
        self._most_processes = processes
        self._threads: Threads | None = None
        self._processes: ProcessPoolExecutor | None = None
        self._in_threads: set[Future[Any]] = set()
        self._in_processes: set[Future[Any]] = set()

    async def in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread and wait for what it returns or raises."""
        if self._threads is None:
            self._threads = Threads(self._most_threads, "tenure-handler")
        context = contextvars.copy_context()
        called = self._threads.submit(context.run, _called, function, *arguments)
        return await _end_of(called, self._in_threads)

    async def call(self, task: Task[..., Any], arguments: dict[str, Any]) -> Any:
        """Call the function behind a task and wait for what it returns or raises."""
        if task.executor == "thread":
            return await self.in_thread(partial(task.function, **arguments))
        if self._processes is None:
            # Not forked from this process: a child would keep its database connections open after it was killed.
            context_ = multiprocessing.get_context("forkserver")
            self._processes = ProcessPoolExecutor(self._most_processes, context_, _leave_signals_to_the_worker)
        pool, function = self._processes, task.function
        try:
            called = pool.submit(_in_process, function.__module__, function.__qualname__, arguments)
            return await _end_of(called, self._in_processes)
        except BrokenExecutor:
            # A child was killed. What it ran counts as failed, and the next task finds new ones.
            if self._processes is pool:
                self._processes = None
                pool.shutdown(wait=False)
            raise

    async def close(self) -> int:
        """Let go of threads and processes; how many functions still ran. Those in processes are killed."""
        left = len(self._in_threads) + len(self._in_processes)
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        if self._processes is not None:
            await _end(self._processes, kill=bool(self._in_processes))
        return left


async def _end_of(called: Future[T], among: set[Future[Any]]) -> T:
    """What it returns or raises. It is among the others until it ends, though nobody may wait for it any more."""
    among.add(called)
    called.add_done_callback(among.discard)
    return await asyncio.wrap_future(called)


async def _end(pool: ProcessPoolExecutor, *, kill: bool) -> None:
    """See to it that the interpreter has nothing to wait for when it ends: it would, for as long as a child lives."""
    children = list((pool._processes or {}).values())
    if kill:
        for child in children:
            child.kill()
    ending = Threads(1, "tenure-ending")
    ended = asyncio.wrap_future(ending.submit(partial(pool.shutdown, cancel_futures=True)))
    ending.shutdown(wait=False)
    await asyncio.wait([ended], timeout=_PATIENCE)


def _leave_signals_to_the_worker() -> None:
    """Ctrl-C reaches every process of a terminal: it is the worker that decides what becomes of what runs here."""
    # Not SIG_IGN, which programs that a function starts would inherit.
    signal.signal(signal.SIGINT, lambda *_: None)


def _called(function: Callable[..., T], *arguments: Any) -> T:
    try:
        return function(*arguments)
    except StopIteration as error:
        # No future of asyncio takes it: whoever waits would wait for ever. A coroutine's is told in the same way.
        raise RuntimeError("The function raised StopIteration.") from error


def _in_process(module: str, qualname: str, arguments: dict[str, Any]) -> Any:
    target: Any = import_module(module)
    for part in qualname.split("."):
        target = getattr(target, part)
    function = target.function if isinstance(target, Task) else target
    try:
        return _called(partial(function, **arguments))
    except BaseException as error:
        raise _portable(error) from None


def _portable(error: BaseException) -> BaseException:
    """An exception that cannot be made again from its pickle would take the whole pool down with it."""
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):  # noqa: S301  # nosec B301
            return error
    except Exception:
        return FailedElsewhere(type(error).__name__, "".join(traceback.format_exception(error)))
    return FailedElsewhere(type(error).__name__, "".join(traceback.format_exception(error)))
