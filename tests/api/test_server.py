"""Health, metrics, and what the server says of itself."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families
from psycopg.conninfo import conninfo_to_dict

from tenure.api.queue_metrics import _HELP
from tenure.api.settings import ServerSettings
from tests.api.conftest import Running, Site

NAMES = [
    "queue_depth", "oldest_job_age_seconds", "newest_job_age_seconds", "active_leases",
    "expired_leases_total", "retryable_failures_total", "terminal_failures_total",
    "throughput_success_per_minute", "throughput_failure_per_minute", "failure_rate", "dead_letter_count",
    "held_count", "worker_online_count", "worker_heartbeat_lag_seconds", "claim_conflict_total",
    "idempotent_replay_total",
]  # fmt: skip


def samples(text: str) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample.labels)
    return found


def test_the_sixteen_metrics_have_the_names_of_s1(site: Site) -> None:
    site.admin.submit()
    site.worker.register()

    found = samples(site.admin.request("GET", "//metrics").text)

    assert len(NAMES) == 16 == len(_HELP)
    assert {name: found[name] for name in NAMES} == {
        name: [{"tenant": site.tenant, "queue_key": "q"}] for name in NAMES
    }


def test_an_empty_queue_has_no_age_rather_than_a_wrong_one(site: Site) -> None:
    found = samples(site.admin.request("GET", "//metrics").text)

    assert "oldest_job_age_seconds" not in found
    assert "queue_depth" in found


def test_the_server_measures_itself(site: Site) -> None:
    site.admin.get("/queues/q")
    site.admin.request("GET", "/nothing")

    found = samples(site.admin.request("GET", "//metrics").text)

    route = {"method": "GET", "route": "/api/v1/execution/queues/{queue_key}", "status": "200"}
    assert route in found["tenure_http_requests_total"]
    assert {"method": "other", "route": "other", "status": "404"} in found["tenure_http_requests_total"]
    assert {"tenure_http_request_duration_seconds_count", "tenure_database_connections", "tenure_event_loop_lag_seconds",
            "tenure_long_polls", "tenure_event_streams", "process_resident_memory_bytes"} <= found.keys()  # fmt: skip


def test_metrics_need_a_token_unless_they_are_opened(site: Site, make_server: Any) -> None:
    assert site.anonymous.request("GET", "//metrics").status_code == 401

    opened = make_server(site.server.settings.model_copy(update={"open_metrics": True, "tenant": site.tenant}))

    text = httpx.get(opened.url + "/metrics").text
    assert samples(text)["queue_depth"] == [{"tenant": site.tenant, "queue_key": "q"}]
    assert httpx.get(opened.url + "/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_who_scrapes_again_at_once_gets_the_count_of_before(site: Site, make_server: Any) -> None:
    settings = {"open_metrics": True, "tenant": site.tenant, "metrics_age_seconds": 3600}
    kept = make_server(site.server.settings.model_copy(update=settings)).url + "/metrics"

    def depth(text: str) -> list[float]:
        families = text_string_to_metric_families(text)
        return [sample.value for family in families for sample in family.samples if sample.name == "queue_depth"]

    before = depth(httpx.get(kept).text)
    site.admin.submit()

    assert (before, depth(httpx.get(kept).text)) == ([0], [0])
    assert depth(site.admin.request("GET", "//metrics").text) == [1]


def test_health_says_whether_the_process_lives_and_can_serve(site: Site) -> None:
    assert site.anonymous.get("//health/live")["status"] == "ok"
    assert site.anonymous.get("//health/ready")["status"] == "ok"


def test_a_server_whose_database_has_gone_lives_but_is_not_ready(database: str, admin: Any, make_server: Any) -> None:
    from tenure.store.postgres.migrate import migrate

    migrate(database)
    server: Running = make_server(ServerSettings(dsn=database, ui=False))
    name = conninfo_to_dict(database)["dbname"]
    admin.execute(f'alter database "{name}" allow_connections false')
    admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name])
    try:
        ready = httpx.get(server.url + "/health/ready", timeout=30)
        assert (ready.status_code, ready.json()["code"]) == (503, "not_ready")
        assert ready.headers["content-type"] == "application/problem+json"
        assert "retry-after" in ready.headers
        assert httpx.get(server.url + "/health/live").status_code == 200
    finally:
        admin.execute(f'alter database "{name}" allow_connections true')


def test_a_server_whose_database_is_to_be_migrated_is_not_ready(site: Site, monkeypatch: Any) -> None:
    from tenure.api.routes import server
    from tenure.store.postgres.migrate import known

    monkeypatch.setattr(server, "pending", lambda _: [known()[-1]])

    response = site.anonymous.request("GET", "//health/ready")

    assert (response.status_code, response.json()["code"]) == (503, "not_ready")
    assert "tenure migrate" in response.json()["hint"]


def test_the_package_can_be_used_without_the_server_extra() -> None:
    """Neither FastAPI nor what it brings is imported by the client, the worker or the command line."""
    script = (
        "import sys\n"
        "for name in ('fastapi', 'starlette', 'uvicorn', 'prometheus_client', 'nicegui', 'argon2', 'authlib'):\n"
        "    sys.modules[name] = None\n"
        "import tenure, tenure.cli.application, tenure.sdk.worker, tenure.testing.draining\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
