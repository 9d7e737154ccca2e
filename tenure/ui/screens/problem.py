"""What is shown where a screen cannot be: no such thing, not allowed, the database away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenure.model.errors import TenureError
from tenure.ui import places
from tenure.ui.components.heading import Heading
from tenure.ui.components.section import block, words
from tenure.ui.screen import Screen

if TYPE_CHECKING:
    from tenure.ui.page import Page


class ProblemScreen(Screen):
    """Says what happened and what to do next."""

    title = "Problem"
    message = "The database does not answer."
    hint = "This page comes back by itself as soon as the database does."

    @classmethod
    def of(cls, page: Page, error: BaseException) -> ProblemScreen:
        """The screen for an error."""
        screen = cls(page, {}, {})
        if isinstance(error, TenureError) and error.status != 503:
            screen.message, screen.hint = error.message, error.hint
        return screen

    async def load(self) -> None:
        """Nothing is read."""

    def build(self) -> None:
        """The message, and a way on."""
        Heading(title=self.message, text=self.hint)
        with block("tn-acts"):
            words("a", "To the queues", "tn-button").props(f'href="{places.DASHBOARD}"')

    def update(self) -> None:
        """It stays as it is."""


class NoSuchPage(ProblemScreen):
    """For an address that leads nowhere."""

    title = "No such page"
    message = "There is no such page."
    hint = "Check the address, or begin at the queues."
