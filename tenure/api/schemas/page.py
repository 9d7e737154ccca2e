"""Pages: what a list answers, and how the next page is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

from tenure.api.cursor import sealed
from tenure.sdk.public_form import public

T = TypeVar("T")
MOST = 500


class Page(BaseModel, Generic[T]):
    """One page of a list. ``next`` is the cursor of the page after it; null on the last one."""

    items: list[T]
    next: str | None = Field(
        None, description="Send it as `cursor` to get the next page; null where there is none.",
        examples=["p1mJZ9zSz0Q1WzEwMDAwMDJd"],
    )  # fmt: skip


Limit = Annotated[int, Query(ge=1, le=MOST, description=f"How many at most, 1 to {MOST}.", examples=[50])]
CursorParameter = Annotated[
    str | None,
    Query(alias="cursor", max_length=1000, description="`next` of the page before; without it the list begins."),
]


def part(found: Sequence[T], following: Sequence[Any] | None, *bound_to: Any) -> dict[str, Any]:
    """A page of what a search found, which itself says where it goes on; it may be short, even empty, before the end."""
    cursor = sealed(following, *bound_to) if following is not None else None
    return {"items": [public(each) for each in found], "next": cursor}


def page(
    found: Sequence[T], limit: int, place: Callable[[T], Sequence[Any]], *bound_to: Any,
    shown: Callable[[T], Any] = public,
) -> dict[str, Any]:  # fmt: skip
    """The page of ``limit`` among what was found, which is one more where the list goes on."""
    kept = found[:limit]
    following = sealed(place(kept[-1]), *bound_to) if len(found) > limit else None
    return {"items": [shown(each) for each in kept], "next": following}
