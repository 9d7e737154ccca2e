"""The way in."""

from __future__ import annotations

from tenure.ui.components.component import Component


class SignIn(Component, component="sign_in.js"):
    """The way in."""
