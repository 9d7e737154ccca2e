"""Lists of submissions look through a bounded number of them at once, and lose none (design 07, Plans that hold)."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tenure.remote.engine.reading import submissions
from tenure.remote.memory import remote_beside
from tenure.remote.postgres import remote_on
from tenure.sdk import remote as ops
from tests.remote.worlds import World
from tests.store.harness import bench_on, memory_bench

_WITHDRAWN = (0, 1, 7)


@pytest.mark.parametrize("store", ["memory", "postgres"])
def test_a_page_may_be_short_and_the_last_one_says_so(
    store: str, border_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"tenure.remote.{store}.SCAN", 3)
    with psycopg.connect(border_database, autocommit=True) as connection:
        bench = memory_bench("listing") if store == "memory" else bench_on(connection, "listing")
        remote = remote_beside(bench.store) if store == "memory" else remote_on(bench.store)  # type: ignore[arg-type]
        world = World(bench, remote)
        for _ in range(8):
            world.submit()
        for number in _WITHDRAWN:
            world.cancel(number)
        node = bench.perform(submissions).submissions[0].node_name
        assert _numbers(world, projection_state="failed") == [[7], [], [1, 0]]
        assert _numbers(world, node=node, projection_state="failed") == [[7], [], [1, 0]]
        assert _numbers(world, limit=1, projection_state="failed") == [[7], [], [1], [0]]
        assert _numbers(world, workspace_id="none") == [[], [], []]
        assert _numbers(world, job_id="job-1", projection_state="failed") == [[1]]
        assert _numbers(world, limit=4) == [[7, 6, 5, 4], [3, 2, 1, 0]]
        gathered = bench.perform(ops.submissions, projection_state="failed", limit=2)
        assert [each.job_id for each in gathered] == ["job-7", "job-1"]


def _numbers(world: World, **chosen: Any) -> list[list[int]]:
    """The numbers of the jobs on each page, to the last."""
    pages: list[list[int]] = []
    before = None
    while not pages or before is not None:
        page = world.bench.perform(submissions, before=before, **{"limit": 2} | chosen)
        pages.append([int(row.job_id.removeprefix("job-")) for row in page.submissions])
        before = page.next_before
    return pages
