"""Tables that read well at 80 columns, and lose nothing where there are fewer: they are wider than the terminal then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from tenure.terminal.wording import shown

#: What may be folded is folded at so many characters at least.
_LEAST = 12
_APART = 3


class Listing(Table):
    """A table that says how wide it is ``at_least``: where a terminal is narrower, its lines are broken there, not cut."""

    at_least = 0


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> Listing:
    """A table. A column whose name begins with ``>`` is set to the right, with ``!`` it is never folded."""
    cells = [[cell if isinstance(cell, Text) else Text(shown(cell)) for cell in row] for row in rows]
    made = Listing(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title=title, title_justify="left", title_style="bold"
    )
    for index, column in enumerate(columns):
        name, whole = column.lstrip(">!"), ">" in column or "!" in column
        longest = max((cell_len(name), *(row[index].cell_len for row in cells)))
        made.add_column(name, justify="right" if ">" in column else "left", no_wrap=whole, overflow="fold")
        made.at_least += (longest if whole else min(longest, _LEAST)) + _APART
    for row in cells:
        made.add_row(*row)
    return made


def fields(values: Mapping[str, Any], *, title: str | None = None) -> Table:
    """Names and values, one below the other."""
    made = Table(box=None, show_header=False, pad_edge=False, title=title, title_justify="left", title_style="bold")
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in values.items():
        made.add_row(name, value if isinstance(value, Text) else Text(shown(value)))
    return made
