"""No screen asks the database more the more there is: so many statements, and no more rows than a page holds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import psycopg
import pytest

from tenure.flow.model.builder import Workflow
from tests.ui.browsing import subject_page, worker_page
from tests.ui.clusters import submission_page, submit, taken, tell
from tests.ui.flows import QUEUE, run_page

#: At most so many statements for a screen, the look-up of the session among them.
LIMITS = [
    ("/ui/", 6), ("/ui/queues/extraction", 8), ("/ui/workers", 7), ("/ui/leases", 7), ("/ui/workbench", 4),
    ("/ui/workbench?view=holds", 4), ("/ui/desk", 14), ("/ui/search?q=LIMS-4711", 6),
    ("/ui/runs", 5), ("/ui/workbench/approvals", 4), ("/ui/workflows", 4), ("/ui/workflows/report", 6), ("/ui/schedules", 4),
    ("/ui/submissions", 7), ("/ui/submissions?state=failed&node=cluster-1", 8), ("/ui/nodes", 5), ("/ui/nodes/cluster-1", 8),
]  # fmt: skip


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The statements that building a page takes; what the server does besides, such as sampling, is not counted."""
    seen: list[str] = []
    execute = psycopg.AsyncCursor.execute

    async def counting(self, query, *args, **options):
        task = asyncio.current_task()
        if task is not None and task.get_name().startswith("wait for result of page"):
            seen.append(str(query))
        return await execute(self, query, *args, **options)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", counting)
    yield seen


@pytest.mark.parametrize(("path", "most"), LIMITS, ids=[path for path, _ in LIMITS])
def test_a_screen_takes_few_statements(get, sent, path, most):
    get(path).raise_for_status()
    sent.clear()
    get(path).raise_for_status()
    assert len(_own(sent)) <= most, sent


def test_a_subject_takes_as_many_statements_however_long_its_history(get, sent, client, lab):
    subject = client.submit(queue_key="qc/manual", name="long").subject
    get(subject_page(subject)).raise_for_status()
    sent.clear()
    get(subject_page(subject)).raise_for_status()
    short = len(_own(sent))
    for _ in range(10):
        client.hold(subject, reason="again")
        client.release_hold(subject, reason="and again")
    sent.clear()
    assert "hold.placed" in get(subject_page(subject)).text
    assert len(_own(sent)) == short <= 20
    get(worker_page(lab.workers["robot/hamilton-1"].uid)).raise_for_status()


def test_a_submission_takes_as_many_statements_however_much_was_refused(get, sent, client, lab):
    page = submission_page(submit(client, lab, "refused"))
    work = taken(client)["refused"]
    counted = []
    for many in (1, 60):
        for number in range(many):
            tell(client, work, "running", event_id=f"{many}-{number}")
        get(page).raise_for_status()
        sent.clear()
        assert "invalid_transition" in get(page).text
        counted.append(len(_own(sent)))
    assert counted[0] == counted[1] <= 20, counted


def test_a_subscription_takes_few_statements(get, sent, mail):
    get("/ui/subscriptions/picky").raise_for_status()
    sent.clear()
    assert "hold.placed" in get("/ui/subscriptions/picky").text
    assert len(_own(sent)) <= 20, sent


def test_a_run_takes_as_many_statements_however_many_items_it_has(get, sent, client, lab):
    client.define_workflow(Workflow("each", queue=QUEUE).map("item", "$.input.items", max_parallel=1000))
    taken = []
    for many in (30, 300):
        run = client.start_run("each", {"items": list(range(many))}).run
        get(run_page(run)).raise_for_status()
        sent.clear()
        assert "items_under_way" in get(run_page(run)).text
        taken.append(len(_own(sent)))
        client.cancel_run(run)
    assert taken[0] == taken[1] <= 40, taken


def _own(sent: list[str]) -> list[str]:
    # Which tenant a connection sees, and whether it is alive, is no reading of the screen's.
    return [query for query in sent if query and not any(word in query for word in ("set_config", "select 1"))]
