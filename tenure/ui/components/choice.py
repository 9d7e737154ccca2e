"""One of a few."""

from __future__ import annotations

from tenure.ui.components.component import Component


class Choice(Component, component="choice.js"):
    """One of a few, all of them in view."""
