"""Functions that run in other processes, which find them by name."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tenure import Defer, Retry


class Awkward(Exception):
    """Cannot be made again from its pickle."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def process_number(number: int) -> list[int]:
    return [number, os.getpid()]


def fail_awkwardly() -> None:
    raise Awkward(1, 2)


def put_off() -> None:
    raise Defer(seconds=3600)


def try_again() -> None:
    raise Retry("later", code="busy", after_seconds=60)


class Odd(BaseException):
    """No Exception, and cannot be made again from its pickle."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def raise_odd() -> None:
    raise Odd(1, 2)


def raise_keyboard_interrupt() -> None:
    raise KeyboardInterrupt


def find_nothing() -> None:
    next(iter(()))


def die_once(path: str) -> str:
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"
