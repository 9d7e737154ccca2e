"""Views that belong together, as tabs that are links."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui.element import Element

from tenure.ui import places
from tenure.ui.components.section import words

WORKBENCH = (
    (places.workbench("dead-letters"), "Dead letters"),
    (places.workbench("holds"), "Holds"),
    (places.APPROVALS, "Approvals"),
)
"""What waits for a decision by a person."""
WORK = ((places.RUNS, "Runs"), (places.WORKFLOWS, "Workflows"), (places.SCHEDULES, "Schedules"))
"""Workflows, their runs, and what starts them."""
REMOTE = ((places.SUBMISSIONS, "Submissions"), (places.NODES, "Management nodes"))
"""What was submitted, and where it runs; nodes are for admins."""


def tabs(label: str, views: Sequence[tuple[str, str]], current: str) -> None:
    """A row of links; ``current`` is the address of the view that is shown."""
    with Element("nav").classes("tn-tabs").props(f'aria-label="{label}"'):
        for href, title in views:
            tab = words("a", title).props(f'href="{href}"')
            if href == current:
                tab.props('aria-current="page"')
