"""How long the screens of /ui take at 1,000,000 waiting subjects: python bench/pages.py DSN [SUBJECTS].

DSN names an empty database of a server that may be filled, or one that was filled so before. For each screen: the time until
the server has answered (best, median and worst of 20), and until Chromium has drawn it (a full load with a warm cache; and
a change of the screen in place, as a click on a link does). The server is a process of its own.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import psycopg
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from tenure.model import euid
from tenure.sdk.client import Tenure
from tenure.store.postgres.migrate import migrate
from tests.store.crowd import Crowd, Place, settle

ROUNDS = 20
SERVER = """
import sys, uvicorn
from tenure.api.application import create_application
from tenure.api.settings import ServerSettings
from tenure.ui.surface import install
application = create_application(ServerSettings(dsn=sys.argv[1]))
install(application)
uvicorn.run(application, port=int(sys.argv[2]), log_level="warning", access_log=False)
"""


def main() -> None:
    dsn = sys.argv[1]
    many = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    migrate(dsn)
    with Tenure(dsn, actor="service:bench") as client:
        if client.queue("main") is None:
            _fill(client, dsn, many)
        screens, secret = _screens(client), client.create_token("user:ada").secret.reveal()
    port = 8907
    server = subprocess.Popen([sys.executable, "-c", SERVER, dsn, str(port)])
    try:
        base = f"http://127.0.0.1:{port}"
        _ready(base)
        rows = _measured(base, secret, screens)
    finally:
        server.terminate()
        server.wait(20)
    print(
        f"| screen, {many:,} subjects waiting | server best / p50 / worst ms | full load best / p50 ms | in place best / p50 ms |"
    )
    print("|---|---|---|---|")
    for name, *times in rows:
        print(f"| {name} | " + " | ".join(" / ".join(f"{each:.0f}" for each in column) for column in times) + " |")


def _fill(client: Tenure, dsn: str, many: int) -> None:
    client.create_principal("user:ada", roles=["admin"], display_name="Ada")
    main_queue = client.define_queue("main", lease_ttl_seconds=3600)
    for number in range(20):
        client.define_queue(f"other-{number:02}")
        client.register_worker(f"worker-{number:02}", max_concurrent_leases=100_000, heartbeat_ttl_seconds=86400)
    for number in range(200):
        subject = client.submit(queue_key="other-00", name=f"held {number}").subject
        client.hold(subject, reason="for the bench")
    worker = client.register_worker("failing", max_concurrent_leases=1000, heartbeat_ttl_seconds=86400)
    for number in range(200):
        client.submit(queue_key="other-01", name=f"dead {number}", max_attempts=1)
    for lease in client.claim(worker, "other-01", limit=200, start=True):
        client.fail(lease, error_class="PERMANENT_INPUT", error_message="ValueError: for the bench")
    client.submit(queue_key="main", name="the one that is looked at", priority=9, properties={"a": 1})
    holders = tuple(w.uid for w in client.workers() if w.worker_key.startswith("worker"))
    with psycopg.connect(dsn, autocommit=True) as connection:
        (tenant, template) = connection.execute(
            "select tenant, uid from tenure.template where code = 'task/job/1.0'"
        ).fetchone()
        settle(
            dsn,
            Place(tenant, template, main_queue.uid, "main", holders),
            Crowd(waiting=many, deferred=many // 10, live=many // 100, finished=many // 5, lapsed=100),
        )
        connection.execute("vacuum analyze")


def _screens(client: Tenure) -> list[tuple[str, str]]:
    chosen = client.find_subjects(name="the one that is looked at").subjects[0].envelope.uid
    return [
        ("dashboard", "/ui/"), ("queue, 1,000,000 deep", "/ui/queues/main"),
        ("subject", f"/ui/subjects/{euid.format_euid(euid.SUBJECT, chosen)}"),
        ("desk", "/ui/desk"), ("dead letters", "/ui/workbench"), ("holds", "/ui/workbench?view=holds"),
        ("workers", "/ui/workers"), ("leases", "/ui/leases"),
        ("search by name", "/ui/search?q=the+one+that"),
    ]  # fmt: skip


def _ready(base: str) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            httpx.get(f"{base}/ui/sign-in").raise_for_status()
        except httpx.HTTPError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _measured(base: str, secret: str, screens: list[tuple[str, str]]) -> list[tuple[Any, ...]]:
    rows = []
    with (
        httpx.Client(base_url=base, cookies={"tenure_session": secret}, timeout=60) as http,
        sync_playwright() as playwright,
    ):
        chromium = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        context = chromium.new_context(base_url=base, viewport={"width": 1280, "height": 800})
        context.add_cookies([{"name": "tenure_session", "value": secret, "url": base}])
        page = context.new_page()
        page.goto("/ui/sign-in")
        for name, path in screens:
            answered = []
            for _ in range(ROUNDS + 2):
                begun = time.perf_counter()
                response = http.get(path)
                answered.append((time.perf_counter() - begun) * 1000)
                assert response.status_code == 200, (path, response.status_code)
            answered = answered[2:]
            loads = [_load(page, path) for _ in range(6)][1:]
            changes = [_change(page, path) for _ in range(6)][1:]
            rows.append((name, _told(answered, worst=True), _told(loads), _told(changes)))
        chromium.close()
    return rows


def _told(times: list[float], *, worst: bool = False) -> list[float]:
    return [min(times), statistics.median(times), *([max(times)] if worst else [])]


def _load(page: Any, path: str) -> float:
    begun = time.perf_counter()
    page.goto(path, wait_until="commit")
    page.wait_for_selector("h1")
    return (time.perf_counter() - begun) * 1000


def _change(page: Any, path: str) -> float:
    away = "/ui/workers" if not path.startswith("/ui/workers") else "/ui/leases"
    page.goto(away)
    page.wait_for_selector("h1")
    page.wait_for_function("window.socket?.connected")
    page.wait_for_timeout(300)
    return float(
        page.evaluate(
            """(path) => new Promise((done) => {
                const link = document.createElement("a");
                link.href = path;
                document.body.append(link);
                const begun = performance.now(), before = document.querySelector("#tn-main h1");
                new MutationObserver((_, self) => {
                    const now = document.querySelector("#tn-main h1");
                    if (now && now !== before) { self.disconnect(); requestAnimationFrame(() => done(performance.now() - begun)); }
                }).observe(document.getElementById("tn-main"), { childList: true, subtree: true });
                link.click();
            })""",
            path,
        )
    )


if __name__ == "__main__":
    main()
