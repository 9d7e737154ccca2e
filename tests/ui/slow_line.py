"""A line on which what the server says comes late."""

from __future__ import annotations

import re

from playwright.sync_api import Page, WebSocketRoute


class SlowLine:
    """Loads a page anew, and from then on may keep back what the server tells it. The page is closed with the block: it is of
    no use to others after it.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._holds = False
        self._kept: list[str | bytes] = []
        self._awaited = 0
        """How many of them had come when what was waited for was among them."""
        self._line: WebSocketRoute | None = None
        page.route_web_socket(re.compile("socket.io"), self._connect)
        page.reload()
        page.wait_for_function("window.socket?.connected")

    def __enter__(self) -> SlowLine:
        return self

    def __exit__(self, *_: object) -> None:
        self._page.close()

    def hold(self) -> None:
        """Keep back what comes from now on."""
        self._holds = True

    def wait_for(self, word: str) -> None:
        """Wait until something with this word in it was kept back."""
        for _ in range(500):
            if any(word in (said if isinstance(said, str) else said.decode(errors="replace")) for said in self._kept):
                self._awaited = len(self._kept)
                return
            self._page.wait_for_timeout(20)
        raise AssertionError(f"the server said nothing of {word}")

    def let_through(self) -> None:
        """What had come when what was waited for had; what came since is still kept back."""
        self._send(self._awaited)
        self._awaited = 0

    def go_on(self) -> None:
        """Let everything through from now on."""
        self._send(len(self._kept))
        self._holds = False

    def _send(self, count: int) -> None:
        assert self._line is not None
        now, self._kept = self._kept[:count], self._kept[count:]
        for said in now:
            self._line.send(said)

    def _connect(self, line: WebSocketRoute) -> None:
        self._line = line
        line.connect_to_server().on_message(self._hear)

    def _hear(self, said: str | bytes) -> None:
        if self._holds:
            self._kept.append(said)
        elif self._line is not None:
            self._line.send(said)
