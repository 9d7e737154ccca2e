"""A few numbers that matter, side by side."""

from __future__ import annotations

from tenure.ui.components.component import Component


class Tiles(Component, component="tiles.js"):
    """A few numbers that matter, side by side."""
