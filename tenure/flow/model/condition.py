"""Conditions of routes: a path, an operator, a value. A condition never fails: what cannot be compared is false."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field, model_validator

from tenure.flow.model.mapping import Lookup, evaluate, paths_in
from tenure.flow.model.names import Frozen
from tenure.flow.model.paths import MISSING, Path, parse_path

Operator = Literal[
    "eq", "ne", "lt", "le", "gt", "ge", "in", "not_in", "contains", "starts_with", "matches", "exists", "missing"
]
_MAX_TEXT = 10_000


class Condition(Frozen):
    """``path operator value``; the value may name data itself. ``exists`` and ``missing`` take none.

    A path alone asks whether there is anything; a path with a value whether it equals that.
    """

    path: str = Field(max_length=500)
    op: Operator = "eq"
    value: Any = None

    @model_validator(mode="before")
    @classmethod
    def _a_path_alone_asks_for_existence(cls, given: Any) -> Any:
        if isinstance(given, dict) and "op" not in given and "value" not in given:
            return {**given, "op": "exists"}
        return given

    @model_validator(mode="after")
    def _fits(self) -> Condition:
        if self.op in ("exists", "missing") and self.value is not None:
            raise ValueError(f"{self.op} takes no value")
        if self.op == "matches":
            _pattern(self.value)
        if self.op in ("in", "not_in") and not isinstance(self.value, list | tuple | str):
            raise ValueError(f"{self.op} takes a list, or a path to one")
        return self

    def paths(self) -> list[Path]:
        """The data that it looks at."""
        return [path for _, path in paths_in([self.path, self.value])]

    def holds(self, lookup: Lookup) -> bool:
        """Whether it is true of the data."""
        left = lookup(parse_path(self.path))
        if self.op in ("exists", "missing"):
            return (left is not MISSING) == (self.op == "exists")
        if left is MISSING:
            return self.op in ("ne", "not_in")
        right = evaluate(self.value, lambda path: _none_if_missing(lookup(path)))
        return _HOLDS[self.op](left, right)


def _none_if_missing(value: Any) -> Any:
    return None if value is MISSING else value


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _pattern(pattern: Any) -> re.Pattern[str]:
    if not isinstance(pattern, str) or len(pattern) > 200:
        raise ValueError("matches takes a regular expression of at most 200 characters")
    try:
        return _compiled(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"not a regular expression: {error}") from None


def _same(left: Any, right: Any) -> bool:
    """Equality as JSON has it: true is not 1, 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def holds(left: Any, right: Any) -> bool:
        comparable = (_number(left) and _number(right)) or (isinstance(left, str) and isinstance(right, str))
        return comparable and compare(left, right)

    return holds


def _member(item: Any, of: Any) -> bool:
    if isinstance(of, list | tuple):
        return any(_same(item, one) for one in of)
    return isinstance(of, Mapping) and isinstance(item, str) and item in of


def _contains(left: Any, right: Any) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right in left
    return _member(right, left)


_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": _same,
    "ne": lambda left, right: not _same(left, right),
    "lt": _ordered(lambda left, right: left < right),
    "le": _ordered(lambda left, right: left <= right),
    "gt": _ordered(lambda left, right: left > right),
    "ge": _ordered(lambda left, right: left >= right),
    "in": _member,
    "not_in": lambda left, right: not _member(left, right),
    "contains": _contains,
    "starts_with": lambda left, right: isinstance(left, str) and isinstance(right, str) and left.startswith(right),
    "matches": lambda left, right: (
        isinstance(left, str) and len(left) <= _MAX_TEXT and _pattern(right).search(left) is not None
    ),
}
