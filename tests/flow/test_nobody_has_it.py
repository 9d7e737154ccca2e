"""What a run waits for that nobody can do: no worker has the task of a step, no worker's code has the run's version."""

from __future__ import annotations

import asyncio
from typing import Any

from tenure.flow.engine import reading
from tenure.sdk.client import Tenure
from tenure.sdk.worker import Worker
from tests.flow.lab import FlowLab, task


def test_why_and_explain_say_that_no_worker_has_the_task_of_a_step(lab: FlowLab) -> None:
    lab.bench.retire_worker(lab.worker)
    lab.define(task("charge", action="shop.charge"))
    lab.bench.worker("shop/1", tasks=("shop.reserve", "shop.ship"))
    run = lab.start()
    subject = lab.bench.queue_items("q")[0].envelope.uid
    reason = lab.bench.why(subject)[-1]
    assert (reason.code, reason.blocking) == ("no_worker_has_task", True)
    assert reason.evidence["task"] == "shop.charge"
    assert [(w["worker_key"], w["tasks"]) for w in reason.evidence["workers"]] == [
        ("shop/1", "shop.reserve, shop.ship")
    ]
    assert reason.remedy == "Start a worker whose code has that task, or requeue the subject with another action."
    stuck = next(r for r in lab.run(reading.explain, run.run) if r.code == "runnable_blocked")
    assert stuck.message.startswith("Step 'charge' is stuck. None of the 1 online worker(s) of queue q has the task")
    assert stuck.remedy == reason.remedy
    lab.bench.worker("shop/2", tasks=("shop.charge",))
    assert [r.code for r in lab.bench.why(subject)] == ["in_queue", "claimable_by"]
    assert [w["worker_key"] for w in lab.bench.why(subject)[-1].evidence["workers"]] == ["shop/2"]


def test_a_worker_that_does_not_say_its_tasks_may_have_any(lab: FlowLab) -> None:
    lab.bench.retire_worker(lab.worker)
    lab.define(task("charge"))
    lab.bench.worker("shop/1", tasks=("ship",))
    lab.bench.person("ada")
    lab.start()
    subject = lab.bench.queue_items("q")[0].envelope.uid
    assert [w["worker_key"] for w in lab.bench.why(subject)[-1].evidence["workers"]] == ["ada"]


def test_why_and_explain_say_that_no_workers_code_has_the_version_of_a_run(lab: FlowLab) -> None:
    lab.bench.retire_worker(lab.worker)
    lab.define(task("charge"))
    run = lab.start()
    lab.bench.worker("old", workflows=("order@2", "other@1"))
    lab.bench.worker("new", workflows=("order@3",))
    subject = lab.bench.queue_items("q")[0].envelope.uid
    reason = next(r for r in lab.run(reading.explain, run.run) if r.code == "version_not_served")
    assert reason.evidence["version"] == 1
    assert [(w["worker_key"], w["versions"]) for w in reason.evidence["workers"]] == [("new", [3]), ("old", [2])]
    assert "migrate it to version 3" in reason.remedy
    assert lab.bench.why(subject)[-1].code == "version_not_served"
    lab.bench.worker("kept", workflows=("order@1",))
    assert "version_not_served" not in [r.code for r in lab.run(reading.explain, run.run)]
    assert lab.bench.why(subject)[-1].code == "claimable_by"


def test_a_workflow_that_no_code_defines_is_served_by_all(lab: FlowLab) -> None:
    lab.bench.retire_worker(lab.worker)
    lab.define(task("charge"))
    run = lab.start()
    lab.bench.worker("shop/1", workflows=("other@1",))
    assert "version_not_served" not in [r.code for r in lab.run(reading.explain, run.run)]


def test_a_worker_that_is_gone_has_no_version(lab: FlowLab) -> None:
    lab.bench.retire_worker(lab.worker)
    lab.define(task("charge"))
    run = lab.start()
    lab.bench.worker("kept", workflows=("order@1",), heartbeat_ttl_seconds=60)
    lab.bench.worker("new", workflows=("order@2",))
    lab.bench.later(61)
    assert "version_not_served" in [r.code for r in lab.run(reading.explain, run.run)]


def test_a_worker_tells_its_tasks_and_the_versions_that_its_code_defines(migrated_database: str) -> None:
    with Tenure(migrated_database, actor="user:ada") as app:
        app.task(queue="q", key="shop.charge")(lambda: None)
        app.workflow("order", queue="q").task("charge", action="shop.charge")
        app.workflow("order", queue="q", version=2).task("charge", action="shop.charge")
        worker = _served(app)
        assert (worker.tasks, worker.workflows) == (("shop.charge",), ("order@1", "order@2"))


def test_a_worker_tells_the_queues_that_it_serves(migrated_database: str) -> None:
    with Tenure(migrated_database, actor="user:ada") as app:
        app.task(queue="two", key="k2")(lambda: None)
        app.task(queue="one", key="k1")(lambda: None)
        assert [_served(app).queues, _served(app, queues=["one"]).queues] == [("one", "two"), ("one",)]


def test_a_worker_with_too_many_tasks_to_tell_tells_none(migrated_database: str) -> None:
    with Tenure(migrated_database, actor="user:ada") as app:
        for number in range(500):
            app.task(queue="q", key=f"task-with-a-long-name-{number}")(lambda: None)
        assert _served(app).tasks == ()


def _served(app: Tenure, **options: Any) -> Any:
    """The worker as it registered itself."""
    worker = Worker(app, drain=True, **options)
    asyncio.run(worker.serve())
    return worker.row
