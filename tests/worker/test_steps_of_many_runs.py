"""Steps of many runs at once: reported in portions over two connections, each step once, and what follows found at once."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from tenure.sdk.worker.reporting import portions
from tests.waiting import until_async
from tests.worker.conftest import drained, working

RUNS = 230


def define(app: Any) -> list[int]:
    """A workflow of two steps, and the inputs that its second step saw."""
    seen: list[int] = []

    @app.task(queue="q", key="one")
    async def one(n: int) -> int:
        return n + 1

    @app.task(queue="q", key="two")
    async def two(n: int) -> int:
        seen.append(n)
        return n * n

    flow = app.workflow("pair", queue="q", output="$.outputs.two")
    flow.task("one", input={"n": "$.input.n"})
    flow.task("two", after="one", input={"n": "$.outputs.one"})
    app.define_workflows()
    return seen


def test_every_step_of_many_runs_is_done_once(app):
    seen = define(app)
    runs = app.start_runs([{"workflow": "pair", "input": {"n": n}} for n in range(RUNS)])
    report = drained(app, concurrency=1000, prefetch=1000, batch=300)

    assert (report["completed"], report["refused"]) == (2 * RUNS, 0)
    assert sorted(seen) == list(range(1, RUNS + 1))
    assert [app.inspect_run(run).run.output for run in (runs[0], runs[-1])] == [1, RUNS**2]
    assert {run.status for run in app.runs(limit=1000)} == {"COMPLETED"}
    assert app.verify().clean


async def test_what_follows_a_step_needs_no_hint_and_no_poll(app):
    define(app)
    async with working(app, poll_listening=3600) as worker:
        await until_async(lambda: worker.listening)
        run = await asyncio.to_thread(app.start_run, "pair", {"n": 3})
        await until_async(lambda: app.inspect_run(run).run.status == "COMPLETED")

        assert (
            worker.report()["hints"] == 1
        )  # that the first step was there; the second came of the worker's own report
        assert app.inspect_run(run).run.output == 16


def test_the_steps_of_one_run_are_reported_together() -> None:
    finishes: list[Any] = [
        (SimpleNamespace(item=SimpleNamespace(correlation_id=f"run {n % 250}")), n) for n in range(750)
    ]
    found = portions(finishes)
    assert sorted(n for portion in found for n in portion) == list(range(750))
    assert [len(portion) for portion in found] == [300, 300, 150]
    runs = [{n % 250 for n in portion} for portion in found]  # type: ignore[operator]
    assert not (runs[0] & runs[1] or runs[1] & runs[2] or runs[0] & runs[2])
    assert portions([]) == []
