"""Plain pieces of a page: sections with a heading, cards, columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nicegui.element import Element


def words(tag: str, text: str, classes: str = "") -> Element:
    """An element with text in it."""
    made = Element(tag).classes(classes)
    made._text = text
    return made


@contextmanager
def section(title: str, *, card: bool = False) -> Iterator[Element]:
    """A section of the screen below a heading of its own."""
    with Element("section").classes("tn-card" if card else "tn-section") as made:
        words("h2", title, "tn-h2")
        yield made


@contextmanager
def block(classes: str) -> Iterator[Element]:
    """A box for layout only."""
    with Element("div").classes(classes) as made:
        yield made
