"""A client with a URL does with runs what a client with a database does, and gets the same values (design 02, API)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from tenure.flow.model.errors import BoundaryConflict, RunUnknown
from tenure.model.errors import Forbidden
from tenure.sdk.client import AsyncTenure, Tenure
from tests.api.conftest import Site

ORDER = {
    "name": "order", "version": 1, "queue": "shop",
    "steps": [
        {"name": "reserve", "performer": "task", "output": "reserved"},
        {"name": "sign", "performer": "approval", "after": ["reserve"]},
        {"name": "paid", "performer": "wait", "signal": "paid", "after": ["sign"]},
        {"name": "ship", "performer": "map", "over": [1, 2], "after": ["paid"], "each": {"performer": "task", "input": "$.item"}},
    ],
}  # fmt: skip


@pytest.fixture
def afar(site: Site) -> Iterator[Tenure]:
    """A client that has a URL and a token."""
    with Tenure(url=site.server.url, token=site.secret("admin", name="user:afar")) as client:
        client.define_workflow(ORDER)
        yield client


def _work(site: Site, count: int = 1) -> None:
    worker = site.trusted.register_worker("shop/1", max_concurrent_leases=10)
    for lease in site.trusted.claim(worker, "shop", limit=count, start=True):
        site.trusted.complete(lease, result={"stock": 3})


def _same(there: Any, here: Any) -> None:
    """Each field of the two, but what a server keeps to itself."""
    for field in fields(here):
        if field.name not in ("head", "run", "children"):
            assert getattr(there, field.name) == getattr(here, field.name), field.name


def test_a_run_is_led_from_its_start_to_its_end_over_http(site: Site, afar: Tenure) -> None:
    run = afar.start_run("order", {"n": 1}, key="o-1")
    assert (run.status, run.run_key, afar.start_run("order", {"n": 1}, key="o-1").replayed) == ("RUNNING", "o-1", True)
    _work(site)
    assert [row.uid for row in afar.runs(waiting=True)] == [run.run]
    assert afar.approve(run, comment="good", idempotency_key="k").status == "RUNNING"
    assert afar.approve(run, comment="good", idempotency_key="k").replayed
    with pytest.raises(BoundaryConflict):
        afar.reject(run)
    assert afar.pause_run(run, reason="lunch").status == "PAUSED"
    assert afar.resume_run(run).status == "RUNNING"
    assert afar.signal_run(run, "paid", {"sum": 3}).status == "RUNNING"
    _work(site, 2)
    assert afar.inspect_run(run).run.status == "COMPLETED"
    again = afar.replay_run(run, key="o-2", reason="once more")
    assert (again.run != run.run, again.run_key) == (True, "o-2")
    assert afar.cancel_run(again, reason="enough").status == "CANCELED"
    third = afar.retry_run(again, from_step="reserve", reason="after all")
    assert afar.inspect_run(third).retry_of == again.run
    assert [row.uid for row in afar.runs("order")] == [third.run, again.run, run.run]


def test_what_is_read_over_http_equals_what_is_read_from_the_database(site: Site, afar: Tenure) -> None:
    run = afar.start_run("order", {"n": 1}, key="o-1", correlation_id="c-1")
    _work(site)
    ours = site.trusted
    there, here = afar.inspect_run(run), ours.inspect_run(run)
    _same(there, here)
    _same(there.run, here.run)
    assert afar.run_graph(run) == ours.run_graph(run)
    assert afar.run_timeline(run) == ours.run_timeline(run)
    assert afar.run_timeline(run, after_seq=2, limit=1) == ours.run_timeline(run, after_seq=2, limit=1)
    assert [r.code for r in afar.explain_run(run)] == [r.code for r in ours.explain_run(run)]
    assert afar.run_as_of(run, seq=2).steps == ours.run_as_of(run, seq=2).steps
    for chosen in ({"status": "PAUSED"}, {"key": "o-1"}, {"since": run.started_at}, {"waiting": True, "limit": 1}):
        for far, near in zip(afar.runs("order", **chosen), ours.runs("order", **chosen), strict=True):
            _same(far, near)
    assert afar.runs(before=run) == []


def test_a_paused_run_goes_on_under_another_version_over_http(afar: Tenure) -> None:
    run = afar.start_run("order", {})
    afar.define_workflow({**ORDER, "version": 2})
    afar.pause_run(run)
    assert afar.migrate_run(run, 2, reason="a better one").version == 2


def test_errors_of_runs_are_the_same_over_http(site: Site, afar: Tenure) -> None:
    run = afar.start_run("order", {})
    with pytest.raises(RunUnknown):
        afar.inspect_run(run.run + 2**40)
    with Tenure(url=site.server.url, token=site.secret("observer")) as observer, pytest.raises(Forbidden):
        observer.cancel_run(run)


def test_a_map_shows_so_many_items_those_in_trouble_first(site: Site, afar: Tenure) -> None:
    steps = [{"name": "all", "performer": "map", "over": "$.input.n", "tolerate": 5, "each": {"performer": "task"}}]
    afar.define_workflow({"name": "many", "version": 1, "queue": "shop", "steps": steps})
    run = afar.start_run("many", {"n": list(range(9))})
    worker = site.trusted.register_worker("shop/1", max_concurrent_leases=10)
    leases = site.trusted.claim(worker, "shop", limit=4, start=True)
    for lease in leases[:3]:
        site.trusted.complete(lease)
    site.trusted.fail(leases[3], error_class="PERMANENT_INPUT", error_code="torn")
    ((step,), whole) = (afar.inspect_run(run, items=3).steps, site.trusted.inspect_run(run).steps[0])
    assert (len(step.subjects), len(whole.subjects)) == (3, 9)
    assert [s.runnable for s in step.subjects] == ["all[3]", "all[4]", "all[5]"]
    assert step.subjects[0].error_code == "torn"


async def test_the_async_client_does_the_same_over_http(site: Site, afar: Tenure) -> None:
    async with AsyncTenure(url=site.server.url, token=site.secret("admin", name="user:afar")) as client:
        run = await client.start_run("order", {"n": 2})
        assert (await client.inspect_run(run)).run.uid == run.run
        assert [r.code for r in await client.explain_run(run)]
