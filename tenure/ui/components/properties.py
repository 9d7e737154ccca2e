"""Names and values."""

from __future__ import annotations

from tenure.ui.components.component import Component


class Properties(Component, component="properties.js"):
    """Names and values."""
