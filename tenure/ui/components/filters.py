"""What narrows a list."""

from __future__ import annotations

from typing import Any

from tenure.ui.components.component import Component


class Filters(Component, component="filters.js"):
    """What narrows a list."""


def narrowed(chosen: dict[str, str], change: dict[str, Any]) -> dict[str, str]:
    """What narrows it after one choice (``name``, ``value``), or after all were cleared (no ``name``)."""
    return chosen | {str(change["name"]): str(change["value"])} if "name" in change else {}
