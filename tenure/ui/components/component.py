"""The base of all components: what it is told goes to the browser only where it changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui.element import Element
from nicegui.events import GenericEventArguments


class Component(Element, esm={"tenure-ui": str(Path(__file__).parent.parent / "browser")}):
    """A Vue component. What it shows is escaped by Vue; nothing is ever set as HTML."""

    def __init__(self, **shown: Any) -> None:
        super().__init__()
        self._told: dict[str, Any] = {}
        self.show(**shown)

    def show(self, **shown: Any) -> None:
        """Show these values; those that did not change are not sent again."""
        changed = {name: value for name, value in shown.items() if name not in self._told or self._told[name] != value}
        if not changed:
            return
        self._told |= changed
        with self._props.suspend_updates():
            for name, value in changed.items():
                # NiceGUI watches what it is given, every row and cell of it; a tuple it leaves alone.
                self._props[name] = tuple(value) if isinstance(value, list) else value
        self.update()

    def when(self, event: str, handler: Callable[[Any], Any]) -> None:
        """Call ``handler`` with what the event carries."""

        async def handle(event_arguments: GenericEventArguments) -> None:
            result = handler(event_arguments.args)
            if hasattr(result, "__await__"):
                await result

        self.on(event, handle)
