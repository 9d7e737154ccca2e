"""The statement files: one SQL statement each, named after what it does."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def text(name: str) -> str:
    """The statement ``name`` as it stands in ``statements/<name>.sql``, without its comment."""
    lines = (files(__package__) / "statements" / f"{name}.sql").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("--"))


def names() -> list[str]:
    """All statements, sorted."""
    folder = files(__package__) / "statements"
    return sorted(entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql"))
