"""The frame of every page: bar, navigation, banner, and the screen within."""

from __future__ import annotations

from tenure.ui.components.component import Component


class Shell(Component, component="shell.js"):
    """The frame of every page: bar, navigation, banner, and the screen within."""
