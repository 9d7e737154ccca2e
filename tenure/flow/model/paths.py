"""Paths: the tiny strict language by which a mapping names data, e.g. ``$.outputs.charge.items[0].id``.

A path begins with a root (``$.input``, ``$.outputs.KEY``, ``$.previous.KEY``, ``$.errors.STEP``, ``$.item``, ``$.index``,
``$.run.FIELD``, ``$.event``) and goes on with names, numbers in brackets, or quoted keys in brackets. A question mark at
its end makes it optional: what is missing is then null. Text that begins with two dollar signs is text with one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

ROOTS = ("input", "outputs", "previous", "errors", "item", "index", "run", "event")
#: Roots that name one of several things: the part after them is needed.
KEYED = frozenset({"outputs", "previous", "errors", "run"})
RUN_FIELDS = ("key", "workflow", "version", "started_at")
MAX_LENGTH = 500

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
_INDEX = re.compile(r"\[(0|[1-9]\d{0,8})\]", re.ASCII)
_QUOTED = re.compile(r'\[("(?:[^"\\\x00-\x1f]|\\.)*")\]')


class PathError(ValueError):
    """Text that is no path; ``at`` is the place (0, 1, ...) at which it stops being one."""

    def __init__(self, text: str, at: int, problem: str) -> None:
        super().__init__(f"{text!r}: {problem} at character {at + 1}")
        self.at = at


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()
"""What a path finds where there is nothing."""


@dataclass(frozen=True, slots=True)
class Path:
    """A parsed path: its root, the parts behind it, and whether it may find nothing."""

    root: str
    parts: tuple[str | int, ...] = ()
    optional: bool = False

    @property
    def key(self) -> str:
        """The output key, step or field that a keyed root names."""
        return str(self.parts[0]) if self.parts else ""

    def __str__(self) -> str:
        return f"$.{self.root}" + "".join(map(_written, self.parts)) + ("?" if self.optional else "")


def _written(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if _NAME.fullmatch(part) else f"[{json.dumps(part)}]"


def is_path(value: object) -> bool:
    """True for text that means a path: one dollar sign at its beginning, not two."""
    return isinstance(value, str) and value.startswith("$") and not value.startswith("$$")


@lru_cache(maxsize=4096)
def parse_path(text: str) -> Path:
    """The path that ``text`` is; ``PathError`` tells what is wrong with it, and where."""
    if len(text) > MAX_LENGTH:
        raise PathError(text[:40] + "…", MAX_LENGTH, f"a path has at most {MAX_LENGTH} characters")
    if not text.startswith("$."):
        raise PathError(text, min(1, len(text)), "a path begins with '$.'")
    root = _NAME.match(text, 2)
    if root is None or root[0] not in ROOTS:
        raise PathError(text, 2, f"expected one of {', '.join(ROOTS)}")
    at, parts, optional = root.end(), [], False
    while at < len(text):
        if text[at] == "?" and at == len(text) - 1:
            optional, at = True, at + 1
            continue
        part, at = _part(text, at)
        parts.append(part)
    path = Path(root[0], tuple(parts), optional)
    _check(path, text)
    return path


def _part(text: str, at: int) -> tuple[str | int, int]:
    if text[at] == ".":
        name = _NAME.match(text, at + 1)
        if name is None:
            raise PathError(text, at + 1, "expected a name")
        return name[0], name.end()
    if index := _INDEX.match(text, at):
        return int(index[1]), index.end()
    if quoted := _QUOTED.match(text, at):
        try:
            return str(json.loads(quoted[1])), quoted.end()
        except ValueError:
            raise PathError(text, at + 1, "expected a key in double quotes, as JSON writes it") from None
    raise PathError(text, at, "expected '.name', '[0]', '[\"key\"]', or '?' at the end")


def _check(path: Path, text: str) -> None:
    at = 2 + len(path.root)
    if path.root in KEYED and (not path.parts or not isinstance(path.parts[0], str)):
        raise PathError(text, at, f"expected a name after $.{path.root}")
    if path.root == "run" and path.key not in RUN_FIELDS:
        raise PathError(text, at + 1, f"a run has {', '.join(RUN_FIELDS)}")
    if path.root == "index" and path.parts:
        raise PathError(text, at, "an index is a number, with nothing inside it")


def walk(value: Any, parts: Sequence[str | int]) -> Any:
    """What ``parts`` lead to inside ``value``; ``MISSING`` where they lead nowhere."""
    for part in parts:
        if isinstance(part, int):
            if not isinstance(value, list | tuple) or part >= len(value):
                return MISSING
            value = value[part]
        elif isinstance(value, Mapping) and part in value:
            value = value[part]
        else:
            return MISSING
    return value
