"""The dialog that asks for what an action needs."""

from __future__ import annotations

from tenure.ui.components.component import Component


class ActionForm(Component, component="action_form.js"):
    """The dialog that asks for what an action needs."""
