"""Spans lead from a submission to its completion across processes, and neither logs nor spans hold payloads or tokens."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg
import pytest

from tenure import Tenure
from tests.conftest import fresh_database
from tests.system.traced import MARK, QUEUE
from tests.waiting import until

HERE = Path(__file__).parents[2]


@dataclass
class Run:
    """What the processes left behind."""

    facts: dict[str, dict[str, str]] = field(default_factory=dict)
    """By task and type of fact, the span that the fact names."""
    spans: dict[str, dict] = field(default_factory=dict)
    """By span, ``TRACE-SPAN``."""
    told: str = ""
    secrets: list[str] = field(default_factory=list)


@pytest.fixture(scope="module", params=["http", "database"])
def run(request, admin, pg_server, migrated_template, tmp_path_factory) -> Iterator[Run]:
    """Work that was submitted over HTTP and done by a worker of either kind, once for all that is asked of it."""
    for dsn in fresh_database(admin, pg_server, migrated_template):
        yield played(dsn, tmp_path_factory.mktemp(request.param), over_http=request.param == "http")


def played(dsn: str, folder: Path, *, over_http: bool) -> Run:
    run = Run()
    with Tenure(dsn, actor="user:ada") as app:
        app.define_queue(QUEUE, max_attempts_default=1)
        app.create_principal("service:remote", roles=["worker_service", "operator"])
        run.secrets.append(str(app.create_token("service:remote").secret.reveal()))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    http = {"TENURE_URL": f"http://127.0.0.1:{port}", "TENURE_TOKEN": run.secrets[0]}
    direct = {"TENURE_DSN": dsn}
    with process(folder, "serve", direct | {"PORT": str(port)}) as server:
        until(lambda: answers(http["TENURE_URL"]), 30, lambda: log(folder, "serve"))
        assert server.poll() is None
        with process(folder, "work", http if over_http else direct):
            with process(folder, "submit", http) as submitting:
                assert submitting.wait(60) == 0, log(folder, "submit")
            until(lambda: ended(dsn) == 3, 60, lambda: log(folder, "work"))
    subjects = {int(uid): task for task, uid in re.findall(r"SUBMITTED (\w+) (\d+)", log(folder, "submit"))}
    with psycopg.connect(dsn) as connection:
        for thread, type_, trace_id in connection.execute("select thread, type, trace_id from tenure.fact"):
            if thread in subjects:
                run.facts.setdefault(subjects[thread], {})[type_] = trace_id
        rows = connection.execute("select encode(token_hash, 'hex') from tenure.attempt").fetchall()
        run.secrets += [digest for (digest,) in rows if digest]
    for part in ("serve", "work", "submit"):
        text = (folder / f"{part}.spans").read_text()
        run.told += log(folder, part) + text
        for line in text.splitlines():
            span = json.loads(line) | {"process": part}
            run.spans[reference(span["context"])] = span
    return run


def reference(context: dict[str, str]) -> str:
    return f"{context['trace_id'].removeprefix('0x')}-{context['span_id'].removeprefix('0x')}"


@contextmanager
def process(folder: Path, part: str, environment: dict[str, str]) -> Iterator[subprocess.Popen]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    settings = kept | environment | {"SPANS": str(folder / f"{part}.spans"), "PYTHONPATH": str(HERE)}
    (folder / f"{part}.spans").touch()
    with (folder / f"{part}.log").open("wb") as output:
        command = [sys.executable, "-m", "tests.system.traced", part]
        running = subprocess.Popen(command, env=settings, cwd=folder, stdout=output, stderr=output)
        try:
            yield running
            if running.poll() is None:
                running.send_signal(signal.SIGTERM)
                assert running.wait(30) in (0, -signal.SIGTERM), log(folder, part)
        finally:
            running.kill()
            running.wait(10)


def log(folder: Path, part: str) -> str:
    return (folder / f"{part}.log").read_text(errors="replace")


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health/live", timeout=1).status_code == 200
    except httpx.HTTPError:
        time.sleep(0.05)
        return False


def ended(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        query = "select count(*) from tenure.execution where state in ('COMPLETED', 'FAILED_TERMINAL')"
        return connection.execute(query).fetchone()[0]


def parent(run: Run, span: dict) -> dict:
    return run.spans[f"{span['context']['trace_id'].removeprefix('0x')}-{span['parent_id'].removeprefix('0x')}"]


def linked(run: Run, span: dict) -> list[dict]:
    return [run.spans[reference(link["context"])] for link in span["links"]]


def test_spans_lead_from_the_completion_back_to_whoever_submitted(run):
    assert run.facts.keys() == {"echo", "break", "give_up"}
    for task, facts in run.facts.items():
        end = run.spans[facts["execution.completed" if task == "echo" else "execution.failed"]]
        assert end["name"] == f"tenure.{'complete' if task == 'echo' else 'fail'}_queue_execution"
        report = end
        while report["name"] != "tenure.report":
            report = parent(run, report)  # over HTTP the request of the server is in between
        [execute] = [s for s in linked(run, report) if s["attributes"]["tenure.action_key"] == task]
        assert (report["process"], execute["process"], execute["name"]) == ("work", "work", "tenure.execute")
        [submit] = linked(run, execute)
        assert (submit["process"], submit["name"]) == ("serve", "tenure.submit_subject")
        assert facts["subject.submitted"] == reference(submit["context"])
        request = parent(run, submit)
        assert (request["name"], request["attributes"]["http.response.status_code"]) == (
            "POST /api/v1/execution/subjects", 201,
        )  # fmt: skip
        assert (parent(run, request)["name"], parent(run, request)["process"]) == ("order", "submit")


def test_no_log_and_no_span_holds_a_token_or_anything_of_a_payload(run):
    assert "tenure.execute" in run.told and "complete_queue_execution" in run.told
    assert "ValueError" in run.told  # that and where it failed is told, what it said is not
    assert MARK not in run.told
    assert len(run.secrets) == 4
    for secret in run.secrets:
        assert secret not in run.told


def test_lines_of_actions_carry_the_id_of_the_request_that_asked_for_them(run):
    lines = [json.loads(text) for text in re.findall(r"INFO:tenure\.(?:action|request):(\{.*\})", run.told)]
    requests = {line["request_id"]: line for line in lines if line["event"] == "request"}
    submissions = [line for line in lines if line["event"] == "action" and line["action_key"] == "submit_subject"]

    assert {line["correlation_id"] for line in submissions} == {"order-echo", "order-break", "order-give_up"}
    for line in submissions:
        request = requests[line["request_id"]]
        assert (request["route"], request["status"], request["actor"]) == (
            "/api/v1/execution/subjects", 201, "service:remote",
        )  # fmt: skip
        assert line["trace_id"].split("-")[0] == request["trace_id"].split("-")[0]
