"""What every screen is: it loads what it shows, builds itself once, and is updated in place from then on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tenure.model.fact import Fact
from tenure.ui.visitor import Visitor

if TYPE_CHECKING:
    from tenure.ui.page import Page


class Screen(ABC):
    """One screen for one visitor. ``load`` reads, ``build`` makes the elements, ``update`` puts what was read into them."""

    title: str = "Tenure"

    def __init__(self, page: Page, path: Mapping[str, str], query: Mapping[str, str]) -> None:
        self.page = page
        self.path = path
        self.query = query

    @property
    def visitor(self) -> Visitor:
        """The person before it."""
        return self.page.visitor

    @abstractmethod
    async def load(self) -> None:
        """Read everything that is shown. Raises TenureError."""

    @abstractmethod
    def build(self) -> None:
        """Make the elements, in the order in which they are read."""

    @abstractmethod
    def update(self) -> None:
        """Show what was loaded last; focus and scroll position stay."""

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Whether these facts change what is shown."""
        return True

    def elsewhere(self) -> str | None:
        """Where to go instead, once it has been loaded; None to stay."""
        return None
