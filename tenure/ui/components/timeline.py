"""Facts in order."""

from __future__ import annotations

from tenure.ui.components.component import Component


class Timeline(Component, component="timeline.js"):
    """Facts in order; a long one is turned page by page."""
