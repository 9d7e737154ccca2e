"""Mappings: literals, paths, and nested objects and lists of them, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from tenure.flow.model.paths import MISSING, Path, PathError, is_path, parse_path

Lookup = Callable[[Path], Any]
MAX_DEPTH = 20


class MappingFailed(Exception):
    """A path that is not optional found nothing (S3: a mapping failure is terminal)."""

    def __init__(self, path: Path, place: str) -> None:
        super().__init__(f"{path} at {place} finds nothing")
        self.path = path
        self.place = place


def paths_in(mapping: Any, place: str = "") -> Iterator[tuple[str, Path]]:
    """Every path in a mapping with its place; ``problems_in`` tells of what should be one and is none."""
    for where, text in texts_in(mapping, place):
        if is_path(text):
            with suppress(PathError):
                yield where, parse_path(text)


def texts_in(mapping: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a mapping with its place."""
    if isinstance(mapping, str):
        yield place, mapping
    elif isinstance(mapping, Mapping):
        for key, inner in mapping.items():
            yield from texts_in(inner, f"{place}.{key}" if place else str(key))
    elif isinstance(mapping, list | tuple):
        for number, inner in enumerate(mapping):
            yield from texts_in(inner, f"{place}[{number}]")


def problems_in(mapping: Any, place: str) -> Iterator[tuple[str, str]]:
    """What is wrong with the texts of a mapping: place and sentence."""
    for where, text in texts_in(mapping, place):
        if is_path(text):
            try:
                parse_path(text)
            except PathError as error:
                yield where, str(error)


def depth(value: Any) -> int:
    """How deeply a value is nested; what nests beyond ``MAX_DEPTH`` is not followed further."""
    level, layer = 0, [value]
    while layer and level <= MAX_DEPTH:
        layer = [inner for outer in layer for inner in _inside(outer)]
        level += 1
    return level


def _inside(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []


def evaluate(mapping: Any, lookup: Lookup, place: str = "input") -> Any:
    """The mapping with each path replaced by what it finds; ``MappingFailed`` where one that must finds nothing."""
    if isinstance(mapping, str):
        if is_path(mapping):
            return _found(parse_path(mapping), lookup, place)
        return mapping[1:] if mapping.startswith("$$") else mapping
    if isinstance(mapping, Mapping):
        return {key: evaluate(inner, lookup, f"{place}.{key}") for key, inner in mapping.items()}
    if isinstance(mapping, list | tuple):
        return [evaluate(inner, lookup, f"{place}[{number}]") for number, inner in enumerate(mapping)]
    return mapping


def _found(path: Path, lookup: Lookup, place: str) -> Any:
    value = lookup(path)
    if value is not MISSING:
        return value
    if path.optional:
        return None
    raise MappingFailed(path, place)
