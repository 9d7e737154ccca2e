"""A table, walked with j and k, turned with buttons, cards on a narrow screen."""

from __future__ import annotations

from tenure.ui.components.component import Component


class Listing(Component, component="listing.js"):
    """A table, walked with j and k, turned with buttons, cards on a narrow screen."""
