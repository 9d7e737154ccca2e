"""Workflows and runs over HTTP: defined, started, steered, explained, drawn (design 02, API)."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.api.sweeping import Sweeping
from tenure.model import euid
from tenure.testing.clock import MovableClock
from tests.api.conftest import Site
from tests.api.documented import Documented

ORDER = {
    "name": "order", "version": 1, "queue": "shop",
    "steps": [
        {"name": "reserve", "performer": "task", "action": "shop.reserve", "output": "reserved"},
        {"name": "approve", "performer": "approval", "after": ["reserve"]},
        {"name": "ship", "performer": "task", "action": "shop.ship", "after": ["approve"]},
    ],
}  # fmt: skip


@pytest.fixture
def shop(site: Site) -> Documented:
    """An admin of a tenant that takes orders."""
    admin = site.as_("admin")
    assert admin.ask("define-workflow", definition=ORDER).status_code == 200
    return admin


def _act(client: Documented, action: str, **body: Any) -> Any:
    return client.ask(action, **body)


def _start(client: Documented, **body: Any) -> Any:
    return client.request("POST", "/runs", json={"workflow": "order", "input": {"order": 1}, **body})


def _work(site: Site, result: Any = None) -> None:
    worker = site.trusted.register_worker("shop/1")
    (lease,) = site.trusted.claim(worker, "shop", start=True)
    site.trusted.complete(lease, result=result)


def test_a_run_goes_from_its_start_over_an_approval_to_its_end(site: Site, shop: Documented) -> None:
    begun = _start(shop, key="o-1")
    run = begun.json()["run"]
    assert (begun.status_code, begun.json()["status"]) == (201, "RUNNING")
    _work(site, {"stock": 3})
    snapshot = shop.request("GET", f"/runs/{run}").json()
    assert snapshot["manual"]["step"] == "approve"
    assert snapshot["steps"][0]["subjects"][0]["state"] == "COMPLETED"
    assert _act(shop, "approve-run", run_euid=run, comment="within the budget").json()["status"] == "RUNNING"
    _work(site)
    ended = shop.request("GET", f"/runs/{run}").json()["run"]
    assert ended["status"] == "COMPLETED"
    told = shop.request("GET", f"/runs/{run}/timeline").json()["items"]
    assert [moment["type"] for moment in told][0 :: len(told) - 1] == ["run.started", "run.terminal"]
    assert [moment["seq"] for moment in told] == list(range(1, ended["seq"] + 1))


def test_the_same_key_is_the_same_run_and_another_input_is_a_conflict(shop: Documented) -> None:
    first, again = _start(shop, key="k"), _start(shop, key="k")
    assert (again.status_code, again.json()["replayed"]) == (200, True)
    assert again.json()["run"] == first.json()["run"]
    other = _start(shop, key="k", input={"order": 2})
    assert (other.status_code, other.json()["code"]) == (409, "run_key_conflict")


def test_the_idempotency_key_names_a_run_that_has_no_key(shop: Documented) -> None:
    header = {"Idempotency-Key": "req-9"}
    body = {"workflow": "order", "input": {}}
    first = shop.request("POST", "/runs", json=body, headers=header).json()
    assert shop.request("POST", "/runs", json=body, headers=header).json()["run"] == first["run"]


def test_a_waiting_run_is_explained_and_drawn(shop: Documented) -> None:
    run = _start(shop).json()["run"]
    why = shop.request("GET", f"/runs/{run}/why").json()["reasons"]
    assert {reason["code"] for reason in why} >= {"runnable_blocked", "dependency_wait"}
    graph = shop.request("GET", f"/runs/{run}/graph").json()
    assert {node["id"]: node["state"] for node in graph["nodes"]} == {
        "reserve": "active",
        "approve": "idle",
        "ship": "idle",
    }
    picture = shop.request("GET", f"/runs/{run}/graph", params={"form": "svg"})
    assert picture.headers["content-type"] == "image/svg+xml" and picture.text.startswith("<svg")
    text = shop.request("GET", f"/runs/{run}/graph", params={"form": "mermaid"})
    assert "reserve" in text.text and text.headers["content-type"].startswith("text/plain")


def test_a_run_is_paused_resumed_and_canceled_and_nothing_follows_the_end(shop: Documented) -> None:
    run = _start(shop).json()["run"]
    assert _act(shop, "pause-run", run_euid=run, reason="stocktaking").json()["status"] == "PAUSED"
    assert _act(shop, "resume-run", run_euid=run).json()["status"] == "RUNNING"
    assert _act(shop, "cancel-run", run_euid=run, reason="withdrawn").json()["status"] == "CANCELED"
    refused = _act(shop, "pause-run", run_euid=run)
    assert (refused.status_code, refused.json()["code"]) == (409, "run_ended")
    again = _act(shop, "replay-run", run_euid=run, key="again").json()
    assert again["run"] != run and again["status"] == "RUNNING"


def test_a_second_different_decision_is_a_conflict(site: Site, shop: Documented) -> None:
    run = _start(shop).json()["run"]
    _work(site)
    first = _act(shop, "approve-run", run_euid=run, idempotency_key="d1")
    assert _act(shop, "approve-run", run_euid=run, idempotency_key="d1").json()["replayed"]
    assert first.status_code == 200
    other = _act(shop, "reject-run", run_euid=run, idempotency_key="d2")
    assert (other.status_code, other.json()["code"]) == (409, "boundary_conflict")


def test_only_named_approvers_decide_over_http(site: Site, shop: Documented) -> None:
    steps = [{"name": "sign", "performer": "approval", "approvers": ["user:hanna-signs", "admin"]}]
    assert shop.ask("define-workflow", definition={"name": "signed", "version": 1, "steps": steps}).status_code == 200
    first, second = (_start(shop, workflow="signed").json()["run"] for _ in range(2))
    operator = site.as_("operator")
    for action in ("approve-run", "reject-run"):
        refused = _act(operator, action, run_euid=first)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert refused.json()["evidence"]["approvers"] == ["user:hanna-signs", "admin"]
    hanna = site.as_("worker_human", name="user:hanna-signs")
    assert _act(hanna, "approve-run", run_euid=first).json()["status"] == "COMPLETED"
    assert _act(shop, "reject-run", run_euid=second).json()["status"] == "FAILED"
    moments = shop.request("GET", f"/runs/{first}/timeline").json()["items"]
    assert [m["actor"] for m in moments if m["type"] == "run.step_resolved"] == ["user:hanna-signs"]


def test_where_nobody_is_named_an_operator_decides_and_no_worker(site: Site, shop: Documented) -> None:
    run = _start(shop).json()["run"]
    _work(site)
    refused = _act(site.as_("worker_human"), "approve-run", run_euid=run)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert _act(site.as_("operator"), "approve-run", run_euid=run).status_code == 200


def test_runs_are_listed_in_pages_by_workflow_and_status(shop: Documented) -> None:
    started = [_start(shop).json()["run"] for _ in range(5)]
    _act(shop, "cancel-run", run_euid=started[0])
    found, cursor = [], None
    while True:
        query = {"workflow": "order", "status": "RUNNING", "limit": 2} | ({"cursor": cursor} if cursor else {})
        page = shop.request("GET", "/runs", params=query).json()
        found += [run["euid"] for run in page["items"]]
        if (cursor := page["next"]) is None:
            break
    assert found == started[:0:-1]


def test_a_definition_that_cannot_be_names_every_problem_with_its_step(shop: Documented) -> None:
    broken = {"name": "broken", "version": 1, "steps": [{"name": "a", "performer": "task", "after": ["nowhere"]}]}
    refused = _act(shop, "define-workflow", definition=broken)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_definition")
    assert any("nowhere" in str(problem) for problem in refused.json()["evidence"]["problems"])
    assert shop.request("GET", "/workflows/broken").status_code == 404


def test_another_tenant_sees_no_run(site: Site, shop: Documented) -> None:
    run = _start(shop).json()["run"]
    elsewhere = Site(site.server, f"{site.tenant}-elsewhere")
    stranger = elsewhere.as_("admin")
    there, nowhere = (stranger.request("GET", f"/runs/{each}") for each in (run, euid.format_euid(euid.RUN, 2**50)))
    assert (there.status_code, nowhere.status_code) == (404, 404)
    told, untold = ({**each.json(), "evidence": None} for each in (there, nowhere))
    assert told == untold
    assert _act(stranger, "cancel-run", run_euid=run).status_code == 404
    assert stranger.request("GET", "/runs").json()["items"] == []
    elsewhere.close()


def test_a_schedule_is_defined_rests_and_goes_on(shop: Documented) -> None:
    made = _act(shop, "define-schedule", schedule={"name": "nightly", "cron": "0 3 * * *", "workflow": "order"}).json()
    assert made["enabled"] and made["next_at"] is not None
    assert not _act(shop, "pause-schedule", name="nightly", reason="stocktaking").json()["enabled"]
    assert _act(shop, "resume-schedule", name="nightly").json()["enabled"]
    assert [each["name"] for each in shop.request("GET", "/schedules").json()["items"]] == ["nightly"]


def test_a_wait_ends_where_all_workers_are_beyond_http(site: Site, shop: Documented, clock: MovableClock) -> None:
    steps = [{"name": "rest", "performer": "wait", "duration": "1h"}]
    shop.act("define-workflow", definition={"name": "nap", "version": 1, "steps": steps})
    run = shop.request("POST", "/runs", json={"workflow": "nap"}).json()["run"]
    worker = site.worker.register()

    def beat() -> str:
        site.server.application.state.sweeping = Sweeping(site.server.application.state.gateway)  # it is time again
        site.worker.act("heartbeat-worker", worker_euid=worker["euid"], incarnation=worker["incarnation"])
        return str(shop.get(f"/runs/{run}")["run"]["status"])

    assert beat() == "RUNNING"
    clock.advance(seconds=3601)
    assert beat() == "COMPLETED"
    assert shop.get(f"/runs/{run}/timeline")["items"][-1]["actor"] == "system:server"
