"""The head of a screen with what can be done."""

from __future__ import annotations

from tenure.ui.components.component import Component


class Heading(Component, component="heading.js"):
    """The head of a screen with what can be done."""
