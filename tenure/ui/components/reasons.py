"""Why a subject is not moving."""

from __future__ import annotations

from tenure.ui.components.component import Component


class Reasons(Component, component="reasons.js"):
    """Why a subject is not moving."""
