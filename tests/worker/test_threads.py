"""Threads that end with the process."""

from __future__ import annotations

import threading

import pytest

from tenure.sdk.worker.threads import Threads


def test_one_that_has_nothing_to_do_is_used_again():
    threads = Threads(8, "t")

    # The next is asked for once the one before is free, which is a moment after its result is there.
    names = set()
    for _ in range(3):
        names.add(threads.submit(lambda: threading.current_thread().name).result(10))
        assert threads._spare.acquire(timeout=10)
        threads._spare.release()

    assert names == {"t_0"}
    threads.shutdown()


def test_there_are_no_more_than_that():
    threads, go_on = Threads(2, "t"), threading.Event()

    waiting = [threads.submit(lambda: go_on.wait(10) and threading.current_thread().name) for _ in range(6)]
    go_on.set()

    assert {future.result(10) for future in waiting} <= {"t_0", "t_1"}
    threads.shutdown()


def test_what_a_function_raises_is_raised_and_the_thread_goes_on():
    threads = Threads(1, "t")

    with pytest.raises(KeyboardInterrupt):
        threads.submit(_interrupted).result(10)

    assert threads.submit(int, "7").result(10) == 7
    threads.shutdown()


def _interrupted() -> None:
    raise KeyboardInterrupt


def test_closing_waits_for_what_runs_cancels_what_does_not_and_takes_nothing_more():
    threads, begun, go_on = Threads(1, "t"), threading.Event(), threading.Event()
    running = threads.submit(lambda: begun.set() or go_on.wait(10))
    assert begun.wait(10)
    behind = threads.submit(int)

    threads.shutdown(wait=False, cancel_futures=True)

    assert behind.cancelled()
    with pytest.raises(RuntimeError):
        threads.submit(int)
    go_on.set()
    threads.shutdown()
    assert running.done()


def test_closing_waits_no_longer_than_it_may(monkeypatch):
    monkeypatch.setattr("tenure.sdk.worker.threads._PATIENCE", 0.01)
    threads, go_on = Threads(1, "t"), threading.Event()
    running = threads.submit(go_on.wait, 10)

    threads.shutdown()

    assert not running.done()
    go_on.set()
