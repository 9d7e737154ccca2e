"""A table, walked with j and k, turned with buttons, cards on a narrow screen."""

from __future__ import annotations

from typing import Any

from tenure.ui.components.component import Component


class Listing(Component, component="listing.js"):
    """A table, walked with j and k, turned with buttons, cards on a narrow screen."""


def ticked(selected: set[str], change: dict[str, Any]) -> set[str]:
    """What is selected after rows (``keys``) were ticked, or their ticks taken away (``on``)."""
    keys = {str(key) for key in change["keys"]}
    return selected | keys if change["on"] else selected - keys
