"""Tables that read well at 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from tenure.terminal.wording import shown


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> Table:
    """A table. A column whose name begins with ``>`` is set to the right, with ``!`` it is never folded."""
    made = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title=title, title_justify="left", title_style="bold"
    )
    for column in columns:
        made.add_column(
            column.lstrip(">!"), justify="right" if ">" in column else "left", no_wrap=">" in column or "!" in column,
            overflow="fold",
        )  # fmt: skip
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(shown(cell)) for cell in row))
    return made


def fields(values: Mapping[str, Any], *, title: str | None = None) -> Table:
    """Names and values, one below the other."""
    made = Table(box=None, show_header=False, pad_edge=False, title=title, title_justify="left", title_style="bold")
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in values.items():
        made.add_row(name, value if isinstance(value, Text) else Text(shown(value)))
    return made
