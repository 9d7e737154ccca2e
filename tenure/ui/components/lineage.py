"""What came from what."""

from __future__ import annotations

from tenure.ui.components.component import Component


class Lineage(Component, component="lineage.js"):
    """What came from what."""
