"""A connection that counts what it sends: one execution of a cursor is one round trip."""

from __future__ import annotations

from typing import Any

import psycopg


class CountingCursor(psycopg.Cursor[Any]):
    """Notes the text of each statement on its connection."""

    def execute(self, query: Any, *args: Any, **options: Any) -> CountingCursor:  # type: ignore[override]
        self.connection.sent.append(str(query))  # type: ignore[attr-defined]
        super().execute(query, *args, **options)
        return self


class CountingConnection(psycopg.Connection[Any]):
    """``sent`` is what went over the wire since it was last cleared."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.sent: list[str] = []
        self.cursor_factory = CountingCursor
