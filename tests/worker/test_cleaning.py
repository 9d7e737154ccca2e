"""A worker, or the server that it works for, removes what is kept no longer (docs/decisions/0018)."""

from __future__ import annotations

import psycopg

from tests.waiting import until_async
from tests.worker.conftest import App, working


async def test_what_is_kept_no_longer_is_removed_while_a_worker_is_there(app: App) -> None:
    with psycopg.connect(app.settings.dsn, autocommit=True) as connection:
        connection.execute(
            "insert into tenure.inbox select %s, 'bus', n::text, sha256('x'), 'user:ada', now() - make_interval(days => n)"
            " from generate_series(81, 100) n", [app.caller.tenant],
        )  # fmt: skip

        def left() -> list[tuple[int]]:
            return connection.execute("select message_id::int from tenure.inbox order by 1").fetchall()

        async with working(app, heartbeat_ttl_seconds=5):
            await until_async(lambda: len(left()) < 20)
        assert left() == [(n,) for n in range(81, 90)]  # 90 days and a moment ago is older than 90 days
