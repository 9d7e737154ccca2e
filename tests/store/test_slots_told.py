"""A claim that leaves slots of a subject for others tells them so."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tenure import Tenure


@pytest.fixture
def app(migrated_database: str) -> Iterator[Tenure]:
    with Tenure(migrated_database, actor="user:ada", notify=False) as app:
        app.define_queue("q")
        yield app


@pytest.mark.parametrize("limit", [1, 50])
def test_slots_that_are_left_are_told_of(app: Tenure, limit: int) -> None:
    workers = [app.register_worker(f"w{number}", max_concurrent_leases=10) for number in range(3)]
    app.submit(queue_key="q")
    app.submit(queue_key="q", slots=3)
    app.claim(workers[0], "q")
    with psycopg.connect(app.settings.dsn, autocommit=True) as listening:
        listening.execute("listen tenure_work")
        for worker, told in zip(workers, (["q"], ["q"], []), strict=True):
            [_] = app.claim(worker, "q", limit=limit)
            assert heard(listening) == told


def heard(listening: psycopg.Connection) -> list[str]:
    """The queues of all hints up to now."""
    listening.execute("select pg_notify('tenure_work', '0 now')")
    queues = (notify.payload.split(" ")[1] for notify in listening.notifies())
    return list(iter(lambda: next(queues), "now"))
