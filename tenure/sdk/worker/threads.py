"""Threads that end with the process: a function that goes on does not keep it from ending, as any other pool's would."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_Todo = tuple[Future[Any], Callable[[], Any]]
_PATIENCE = 2.0


class Threads(ThreadPoolExecutor):
    """A pool by its type, since a loop takes no other as its default; its threads are its own."""

    def __init__(self, most: int, name: str) -> None:
        super().__init__(most, name)
        self._most = most
        self._name = name
        self._todo: SimpleQueue[_Todo | None] = SimpleQueue()
        self._spare = threading.Semaphore(0)
        self._all: list[threading.Thread] = []
        self._closing = False
        self._changing = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call it in a thread that has nothing to do, or in a new one, or after others."""
        future: Future[T] = Future()
        with self._changing:
            if self._closing:
                raise RuntimeError("These threads are closed.")
            self._todo.put((future, partial(fn, *args, **kwargs)))
            if not self._spare.acquire(blocking=False) and len(self._all) < self._most:
                name = f"{self._name}_{len(self._all)}"
                self._all.append(threading.Thread(target=self._work, name=name, daemon=True))
                self._all[-1].start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take nothing more. Whoever waits for what still runs does so for a few seconds at most."""
        with self._changing:
            self._closing = True
            if cancel_futures:
                self._cancel()
            self._todo.put(None)
        deadline = time.monotonic() + (_PATIENCE if wait else 0)
        for thread in self._all if wait else ():
            thread.join(max(0.0, deadline - time.monotonic()))

    def _cancel(self) -> None:
        while True:
            try:
                todo = self._todo.get_nowait()
            except Empty:
                return
            if todo is not None:
                todo[0].cancel()

    def _work(self) -> None:
        while (todo := self._todo.get()) is not None:
            _do(*todo)
            del todo  # which nobody needs while this waits for more
            self._spare.release()
        self._todo.put(None)  # for the next of them


def _do(future: Future[Any], function: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        value = function()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(value)
