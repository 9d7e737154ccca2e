"""``tenure demo`` from outside: real processes on an embedded server; its claims are looked up in the database by SQL."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psycopg
import pytest

from tenure.api import background
from tenure.embedded import Cluster

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
ANALYSES = ("dog", "rte", "duck_bluebird", "ds1979_anaesthesia")


class Played(NamedTuple):
    """One run of the demonstration: what it printed as JSON, how long it took, and the database afterwards."""

    told: dict[str, Any]
    screen: str
    seconds: float
    query: Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def played(short_folder: Path) -> Iterator[Played]:
    home = short_folder / "demo"
    cluster = Cluster(home, fallbacks=[short_folder / "lib"])
    cluster.start()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    environment |= {"TENURE_HOME": str(home), "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    try:
        begin = time.monotonic()
        run = subprocess.run(
            [sys.executable, "-m", "tenure.cli", "demo", "--json"], env=environment, capture_output=True, text=True,
            timeout=110, check=False, cwd=short_folder,
        )  # fmt: skip
        seconds = time.monotonic() - begin
        assert run.returncode == 0, run.stdout + run.stderr
        with psycopg.connect(cluster.dsn, autocommit=True) as connection:
            yield Played(
                json.loads(run.stdout), run.stderr, seconds, lambda sql, *p: connection.execute(sql, p).fetchall()
            )
    finally:
        background.stop(home)
        cluster.stop("immediate")


def test_it_keeps_all_its_promises_within_a_minute(played):
    assert [promise for promise in played.told["promises"] if not promise["kept"]] == []
    assert len(played.told["promises"]) >= 12
    assert played.seconds < 60


def test_it_leaves_a_server_running_whose_screens_an_admin_may_sign_in_to(played):
    visit = played.told["visit"]
    root = visit["address"].removesuffix("/ui")
    with httpx.Client(base_url=root, trust_env=False, timeout=20) as visitor:
        assert visitor.get("/ui/", follow_redirects=True).status_code == 200
        told = visitor.post("/api/v1/session", json={"name": visit["name"], "password": visit["password"]})
        assert told.status_code == 200, told.text
        queues = visitor.get("/api/v1/execution/queues").json()["items"]
        assert "analysis_dispatch" in [each["queue_key"] for each in queues]


def test_it_tells_what_happens_step_by_step(played):
    for said in ("is killed while it holds", "takes it over", "a dead letter", "holds it", "lets it go", "Verified"):
        assert said in played.screen


def test_every_analysis_succeeded_once_in_each_queue(played):
    rows = played.query(
        """
        select s.external_ref, q.queue_key, count(*) from tenure.execution_record r
        join tenure.subject s on s.uid = r.subject join tenure.queue q on q.uid = r.queue
        where s.external_ref = any(%s) and r.status = 'SUCCEEDED' group by 1, 2
        """,
        list(ANALYSES),
    )
    assert sorted(rows) == sorted(
        (name, queue, 1) for name in ANALYSES for queue in ("analysis_dispatch", "analysis_qc")
    )


def test_the_killed_workers_lease_expired_and_the_other_worker_succeeded(played):
    rows = played.query(
        """
        select w.worker_key, r.status from tenure.execution_record r join tenure.subject s on s.uid = r.subject
        join tenure.worker w on w.uid = r.worker join tenure.queue q on q.uid = r.queue
        where s.external_ref = 'dog' and q.queue_key = 'analysis_dispatch' order by r.uid
        """
    )
    killed = played.told["killed"]
    assert rows[0] == (killed, "EXPIRED")
    assert [status for _, status in rows].count("SUCCEEDED") == 1
    assert killed not in [key for key, status in rows if status == "SUCCEEDED"]


def test_every_artifact_is_an_output_of_its_request_and_its_file_has_the_registered_hash(played):
    rows = played.query(
        """
        select request.external_ref, artifact.properties ->> 'path', artifact.properties ->> 'sha256' from tenure.lineage l
        join tenure.execution_record r on r.uid = l.parent join tenure.subject request on request.uid = r.subject
        join tenure.subject artifact on artifact.uid = l.child where l.relation = 'execution_record_output'
        """
    )
    assert sorted(name for name, _, _ in rows) == sorted(ANALYSES)
    for _, path, sha256 in rows:
        assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == sha256


def test_the_damaged_file_was_one_dead_letter_that_an_operator_resolved(played):
    rows = played.query("select resolution_state, resolved_by from tenure.dead_letter")
    assert rows == [("REQUEUED", "user:omar")]


def test_the_wet_labs_specimens_reached_the_run_and_the_held_one_was_released(played):
    rows = played.query(
        """
        select count(*) from tenure.execution e join tenure.subject s using (uid)
        where s.name like 'SP-%%' and e.state = 'COMPLETED'
        """
    )
    assert rows == [(3,)]
    assert played.query("select status, reason from tenure.hold") == [("RELEASED", "the label is smudged")]


def test_people_did_what_is_for_people_only(played):
    rows = played.query(
        """
        select distinct w.worker_type from tenure.execution_record r join tenure.worker w on w.uid = r.worker
        join tenure.queue q on q.uid = r.queue where q.queue_key = 'post_extract_qc'
        """
    )
    assert rows == [("HUMAN_SESSION",)]


def test_one_order_went_through_with_its_delivery_and_one_was_undone_in_reverse_order(played):
    rows = played.query("select name, run_key, status, parent_run is null from tenure.run where name <> 'survey'")
    assert ("order", "order-7001", "COMPLETED", True) in rows
    assert ("order", "order-7002", "FAILED", True) in rows
    assert [row[2:] for row in rows if row[0] == "delivery"] == [("COMPLETED", False)]
    done = played.query(
        """
        select run.run_key, n.step from tenure.runnable n join tenure.run on run.uid = n.run
        join tenure.execution_record r on r.subject = n.subject
        where run.name = 'order' and r.status = 'SUCCEEDED' order by r.uid
        """
    )
    assert [step for key, step in done if key == "order-7001"] == ["reserve", "authorize", "invoice"]
    assert [step for key, step in done if key == "order-7002"] == ["reserve", "authorize", "void", "put_back"]


def test_the_approvers_name_is_on_her_decisions(played):
    rows = played.query("select actor, data ->> 'decision' from tenure.fact where type = 'run.step_resolved'")
    assert sorted(rows) == [("user:olga", "approved"), ("user:olga", "rejected")]


def test_the_surveys_report_is_the_joins_output_and_has_the_published_accuracy(played):
    [(status, output)] = played.query("select status, output from tenure.run where name = 'survey'")
    data = Path(output["path"]).read_bytes()
    assert (status, hashlib.sha256(data).hexdigest()) == ("COMPLETED", output["sha256"])
    rows = {row["dataset"]: row for row in json.loads(data)["rows"]}
    assert sorted(rows) == sorted(ANALYSES)
    assert rows["rte"]["found"] == pytest.approx(0.9275)
    assert rows["dog"]["found"] == pytest.approx(680 / 807, abs=1e-6)


def test_the_server_shows_the_runs(played):
    visit = played.told["visit"]
    with httpx.Client(base_url=visit["address"].removesuffix("/ui"), trust_env=False, timeout=20) as visitor:
        told = visitor.post("/api/v1/session", json={"name": visit["name"], "password": visit["password"]})
        assert told.status_code == 200, told.text
        runs = visitor.get("/api/v1/execution/runs").json()["items"]
    assert sorted(run["name"] for run in runs) == ["delivery", "order", "order", "survey"]
