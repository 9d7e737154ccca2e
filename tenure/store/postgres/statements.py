"""The statement files: one SQL statement each, named after what it does."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_PARAMETER = re.compile(r"%%|%\((\w+)\)s")


@cache
def text(name: str) -> str:
    """The statement ``name`` as it stands in ``statements/<name>.sql``, without its comment."""
    lines = (files(__package__) / "statements" / f"{name}.sql").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("--"))


@cache
def numbered(name: str) -> tuple[str, tuple[str, ...]]:
    """The same with its parameters numbered, as the server takes it, and their names in that order: what the driver would
    otherwise find out anew each time that a long one is sent.
    """
    order: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        return f"${order.setdefault(found[1], len(order) + 1)}" if found[1] else "%"

    sql = _PARAMETER.sub(number, text(name))
    return sql, tuple(order)


def names() -> list[str]:
    """All statements, sorted."""
    folder = files(__package__) / "statements"
    return sorted(entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql"))
