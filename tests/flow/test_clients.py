"""Workflows from a client: sync and async by one path, within the caller's transaction, run by ordinary workers."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest

from tenure.model.errors import NotFound
from tenure.sdk.client import AsyncTenure, Tenure
from tenure.sdk.public_form import public
from tenure.testing import MovableClock, drain


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def app(migrated_database: str, clock: MovableClock) -> Iterator[Tenure]:
    with Tenure(migrated_database, clock=clock, actor="user:ada") as client:
        yield client


def order(app: Tenure | AsyncTenure) -> list[str]:
    """A workflow of two tasks with a wait in between; what was done."""
    done: list[str] = []

    @app.task(queue="shop", key="reserve")
    def reserve(item: str) -> dict[str, str]:
        done.append(f"reserve {item}")
        return {"place": f"shelf of {item}"}

    @app.task(queue="shop", key="ship")
    def ship(place: str) -> str:
        done.append(f"ship from {place}")
        return f"shipped from {place}"

    (
        app.workflow("order", queue="shop", output="$.outputs.ship")
        .task("reserve")
        .wait("rest", after="reserve", duration="10m")
        .task("ship", after="rest", input={"place": "$.outputs.reserve.place"})
    )
    return done


def test_a_worker_runs_the_steps_of_a_registered_workflow(app: Tenure, clock: MovableClock) -> None:
    done = order(app)
    app.define_workflows()
    run = app.start_run("order", {"item": "ink"}, key="o-1")
    drain(app)
    assert done == ["reserve ink"]
    clock.advance(minutes=10)
    drain(app)
    assert done == ["reserve ink", "ship from shelf of ink"]
    snapshot = app.inspect_run(run)
    assert (snapshot.run.status, snapshot.run.output) == ("COMPLETED", "shipped from shelf of ink")
    again = app.start_run("order", {"item": "ink"}, key="o-1")
    assert (again.run, again.replayed, again.status) == (run.run, True, "COMPLETED")


def test_a_worker_defines_the_workflows_of_its_client(app: Tenure) -> None:
    order(app)
    with pytest.raises(NotFound):
        app.start_run("order", {"item": "ink"})
    drain(app)
    assert app.start_run("order", {"item": "ink"}).status == "RUNNING"


def test_the_async_client_does_the_same(migrated_database: str, clock: MovableClock) -> None:
    async def whole() -> str:
        async with AsyncTenure(migrated_database, clock=clock) as app:
            order(app)
            await app.define_workflows()
            run = await app.start_run("order", {"item": "ink"})
            await drain(app)
            clock.advance(minutes=10)
            await drain(app)
            return (await app.inspect_run(run)).run.status

    assert asyncio.run(whole()) == "COMPLETED"


def test_a_run_is_started_with_the_callers_data_or_not_at_all(app: Tenure, migrated_database: str) -> None:
    order(app)
    app.define_workflows()
    with psycopg.connect(migrated_database) as own:
        app.within(own).start_run("order", {"item": "ink"}, key="gone")
        own.rollback()
        assert app.runs("order") == []
        app.within(own).start_run("order", {"item": "ink"}, key="kept")
        own.commit()
    assert [run.run_key for run in app.runs("order")] == ["kept"]


def test_what_a_client_answers_about_runs_is_public_with_euids(app: Tenure) -> None:
    order(app)
    app.define_workflows()
    run = app.start_run("order", {"item": "ink", "run": 5}, key=str(uuid.UUID(int=1)))
    shown = public(app.inspect_run(run))
    assert shown["run"]["euid"].startswith("FX-")
    assert shown["run"]["workflow"].startswith("VX-")
    assert shown["run"]["input"] == {"item": "ink", "run": 5}
    (subject,) = shown["steps"][0]["subjects"]
    assert subject["subject"].startswith("SX-")
    assert app.inspect_run(shown["run"]["euid"]).run.uid == run.run
    assert public(run)["run"] == shown["run"]["euid"]
    assert [moment["sentence"] for moment in public(app.run_timeline(run))] == [
        "Started order version 1 under the key 00000000-0000-0000-0000-000000000001.", "Planned: reserve.",
    ]  # fmt: skip


def test_runs_are_listed_by_workflow_status_key_and_time_page_by_page(app: Tenure, clock: MovableClock) -> None:
    order(app)
    app.define_workflows()
    keys = [f"o-{n}" for n in range(5)]
    for key in keys:
        app.start_run("order", {"item": "ink"}, key=key)
        clock.advance(minutes=1)
    noon = clock() - timedelta(minutes=3)
    app.cancel_run(app.runs(key="o-0")[0])
    assert [r.run_key for r in app.runs(status="CANCELED")] == ["o-0"]
    assert [r.run_key for r in app.runs(since=noon)] == ["o-4", "o-3", "o-2"]
    assert [r.run_key for r in app.runs(until=noon)] == ["o-1", "o-0"]
    page = app.runs("order", limit=2)
    assert [r.run_key for r in page] == ["o-4", "o-3"]
    assert [r.run_key for r in app.runs("order", limit=2, before=page[-1])] == ["o-2", "o-1"]
    assert app.runs("nothing") == []
    assert app.run_as_of(app.runs(key="o-0")[0], seq=2).status == "RUNNING"


def test_a_run_began_when_its_facts_say_so_by_a_clock_that_goes_on(migrated_database: str) -> None:
    with Tenure(migrated_database) as app:
        order(app)
        app.define_workflows()
        run = app.start_run("order", {"item": "ink"})
        app.cancel_run(run)
        app.replay_run(run)
        assert [row.started_at for row in app.runs()] == [app.run_timeline(row)[0].at for row in app.runs()]
        assert app.verify().clean
