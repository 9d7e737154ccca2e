"""Sets of small numbers as one integer: how a run remembers ten thousand items in two kilobytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer


def _read(value: Any) -> Any:
    return int(value, 16) if isinstance(value, str) else value


Bits = Annotated[int, BeforeValidator(_read), PlainSerializer(lambda bits: f"{bits:x}", return_type=str)]
"""A set of numbers; in JSON hexadecimal text."""


def has(bits: int, number: int) -> bool:
    """Whether the number is in the set."""
    return bool(bits >> number & 1)


def numbers_in(bits: int) -> Iterator[int]:
    """The numbers of the set, smallest first."""
    for at, digit in enumerate(reversed(f"{bits:b}")):
        if digit == "1":
            yield at
