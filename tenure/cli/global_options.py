"""Lets the global options stand anywhere on the command line: ``tenure --json queue list`` is ``tenure queue list --json``."""

from __future__ import annotations

from collections.abc import Sequence

_FLAGS = ("--json", "--verbose", "-v")
_WITH_VALUE = ("--dsn", "--tenant", "--actor")


def to_the_front(arguments: Sequence[str]) -> list[str]:
    """The same arguments with the global options first. What follows ``--`` is left where it is."""
    moved: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            rest += [argument, *waiting]
        elif argument in _FLAGS or argument.startswith(tuple(f"{name}=" for name in _WITH_VALUE)):
            moved.append(argument)
        elif argument in _WITH_VALUE:
            moved.append(argument)
            moved += [value for value in [next(waiting, None)] if value is not None]
        else:
            rest.append(argument)
    return moved + rest
