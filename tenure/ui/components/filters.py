"""What narrows a list."""

from __future__ import annotations

from tenure.ui.components.component import Component


class Filters(Component, component="filters.js"):
    """What narrows a list."""
