"""What was done, with a way to its fact."""

from __future__ import annotations

from tenure.ui.components.component import Component


class Notices(Component, component="notices.js"):
    """Messages that go away by themselves, read out by screen readers."""

    def say(self, text: str, *, href: str | None = None, link: str = "", tone: str | None = None) -> None:
        """Show a message."""
        self.run_method("say", {"text": text, "href": href, "link": link, "tone": tone})
