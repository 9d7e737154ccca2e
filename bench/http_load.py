"""Load over HTTP: many workers, each with a row and a token of its own, claim by long poll and complete, for a while.

    python bench/http_load.py --workers 200 --seconds 60

A real ``tenure serve`` in a process of its own, clients in others, on a fresh embedded PostgreSQL (or --dsn, a migrated
database). Work is submitted so that there is always some, and always less than there are workers: most of them wait. Prints
figures; exits with 1 where any request failed on the server's side, or where ``verify`` finds anything.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil

from tenure import Tenure
from tenure.embedded import Cluster
from tenure.store.postgres.migrate import migrate

API = "/api/v1/execution"
QUEUE = "load"
WAIT = 10
MIB = 2**20


@dataclass
class Figures:
    """What was measured."""

    workers: int
    seconds: float
    statuses: dict[str, int] = field(default_factory=dict)
    """Answers by route and status; ``lost`` where there was none."""
    jobs: int = 0
    claim_ms: tuple[float, float] = (0, 0)
    complete_ms: tuple[float, float] = (0, 0)
    start_ms: tuple[float, float] = (0, 0)
    """From the submission's answer to the claim's answer."""
    rss_mib: list[float] = field(default_factory=list)
    """Of the server: before, then each tenth of the time."""
    server_cpu_seconds: float = 0
    completed: int = 0
    left: int = 0
    verified: int = 0
    divergences: int = 0

    @property
    def failed(self) -> int:
        """Requests that failed on the server's side, or had no answer."""
        return sum(n for name, n in self.statuses.items() if name.endswith("lost") or name.rsplit(" ", 1)[1] >= "500")


# Clients -------------------------------------------------------------------------------------------------------------
class Wire:
    """One kept connection that speaks just enough HTTP: a client library's pool of hundreds costs more than what is measured."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._place = (parts.hostname, parts.port)
        self._head = f"Host: {parts.netloc}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: dict) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the answer. Raises OSError or EOFError where there is none."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._place)
        reader, writer = self._streams
        content = json.dumps(body).encode()
        try:
            writer.write(
                f"POST {path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n".encode() + content
            )
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
            answer = await reader.readexactly(int(headers["content-length"]))
        except (OSError, EOFError):
            self._streams = None
            writer.close()
            raise
        return int(head[0].split()[1]), headers, answer


class Client:
    """One worker: its connection, its registration, and what it saw."""

    def __init__(self, url: str, number: int, token: str, told: dict) -> None:
        self._wire = Wire(url, token)
        self._number = number
        self._told = told
        self._me: dict = {}

    async def post(self, route: str, body: dict) -> dict | None:
        """What an action answers; None where it is refused."""
        while True:
            begun = time.perf_counter()
            try:
                status, headers, answer = await self._wire.post(f"{API}/actions/{route}", body)
            except (OSError, EOFError) as error:
                self._told["statuses"][f"{route} {type(error).__name__} lost"] += 1
                return None
            self._told["statuses"][f"{route} {status}"] += 1
            if status != 429:
                self._told["times"].setdefault(route, []).append(time.perf_counter() - begun)
                return json.loads(answer) if status == 200 else None
            await asyncio.sleep(float(headers["retry-after"]))

    async def register(self) -> None:
        """Become a worker."""
        spec = {"worker_key": f"load/{self._number}", "heartbeat_ttl_seconds": 3600}
        self._me = await self.post("register-worker", spec) or {}

    async def work(self, until: float) -> None:
        """Claim and complete until the time is up."""
        me = self._me
        asking = {"worker_euid": me["euid"], "incarnation": me["incarnation"], "queue_key": QUEUE, "start": True}
        while (left := until - time.time()) > 0:
            taken = await self.post("claim", asking | {"wait_seconds": max(0.1, min(WAIT, left))})
            for lease in (taken or {}).get("leases", []):
                self._told["started"].append(time.time() - lease["properties"]["at"])
                proof = {"lease_euid": lease["lease"], "worker_euid": me["euid"], "lease_token": lease["lease_token"]}
                if await self.post("complete", {**proof, "result": {"ok": True}}) is not None:
                    self._told["jobs"] += 1
                    say("done")


def say(word: str) -> None:
    """Tell whoever started this process."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


async def clients(plan: dict) -> dict:
    """The workers of one process. It says when all have registered, and of each job that it is done."""
    told: dict = {"statuses": Counter(), "times": {}, "started": [], "jobs": 0}
    workers = [Client(plan["url"], number, token, told) for number, token in plan["tokens"]]
    await asyncio.gather(*(worker.register() for worker in workers))
    say("ready")
    until = float(await asyncio.to_thread(sys.stdin.readline))
    await asyncio.gather(*(worker.work(until) for worker in workers))
    return told


# The run -------------------------------------------------------------------------------------------------------------
def measure(dsn: str, *, workers: int, seconds: float, processes: int = 2, outstanding: int | None = None) -> Figures:
    """Run the load on a migrated database."""
    figures = Figures(workers, seconds)
    with Tenure(dsn, actor="user:bench") as app, served(dsn) as (url, server):
        app.define_queue(QUEUE, lease_ttl_seconds=300, max_attempts_default=1000)
        tokens = []
        for number in range(workers):
            app.create_principal(f"service:load-{number}", roles=["worker_service"])
            tokens.append((number, str(app.create_token(f"service:load-{number}").secret.reveal())))
        asyncio.run(_run(app, url, server, tokens, figures, processes, outstanding or max(1, workers // 2)))
        counts = app.metrics([QUEUE], window_seconds=1)[0]
        figures.left = counts.queue_depth + counts.active_leases
        report = app.verify()
        figures.verified, figures.divergences = report.subjects, sum(report.found.values())
        figures.completed = len(_completed(dsn))
    return figures


async def _run(
    app: Tenure, url: str, server: psutil.Process, tokens: list, figures: Figures, processes: int, outstanding: int
) -> None:
    shares = [tokens[n::processes] for n in range(processes)]
    running = [
        await asyncio.create_subprocess_exec(
            sys.executable, __file__, "--clients", stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=2**26
        )
        for _ in shares
    ]
    for process, share in zip(running, shares, strict=True):
        process.stdin.write(json.dumps({"url": url, "tokens": share}).encode() + b"\n")
    for process in running:
        assert await process.stdout.readline() == b"ready\n"
    figures.rss_mib.append(server.memory_info().rss / MIB)
    used = sum(server.cpu_times()[:2])
    begun, until = time.time(), time.time() + figures.seconds
    submitted = done = 0
    hungry = asyncio.Event()
    hungry.set()
    tails: list[dict] = []

    async def follow(process: asyncio.subprocess.Process) -> None:
        nonlocal done
        process.stdin.write(f"{until}\n".encode())
        async for line in process.stdout:
            if line == b"done\n":
                done += 1
                hungry.set()
            else:
                tails.append(json.loads(line))
        await process.wait()

    async def feed() -> None:
        nonlocal submitted
        while time.time() < until - 1:
            await hungry.wait()
            hungry.clear()
            missing = outstanding - (submitted - done)
            if missing >= max(1, outstanding // 4):
                requests = [{"queue_key": QUEUE, "properties": {"at": time.time()}} for _ in range(missing)]
                submitted += missing
                await asyncio.to_thread(app.submit_many, requests)

    async def weigh() -> None:
        while time.time() < until:
            await asyncio.sleep(figures.seconds / 10)
            figures.rss_mib.append(server.memory_info().rss / MIB)

    following = [asyncio.create_task(follow(process)) for process in running]
    beside = [asyncio.create_task(feed()), asyncio.create_task(weigh())]
    await asyncio.gather(*following)
    for task in beside:
        task.cancel()
    await asyncio.gather(*beside, return_exceptions=True)
    figures.seconds = time.time() - begun
    times: dict[str, list[float]] = {}
    statuses: Counter[str] = Counter()
    started: list[float] = []
    for tail in tails:
        statuses.update(tail["statuses"])
        started += tail["started"]
        figures.jobs += tail["jobs"]
        for route, some in tail["times"].items():
            times.setdefault(route, []).extend(some)
    figures.statuses = dict(sorted(statuses.items()))
    figures.claim_ms, figures.complete_ms = _spread(times.get("claim", [])), _spread(times.get("complete", []))
    figures.start_ms = _spread(started)
    figures.server_cpu_seconds = sum(server.cpu_times()[:2]) - used


def _spread(seconds: list[float]) -> tuple[float, float]:
    ordered = sorted(seconds) or [math.nan]
    return ordered[len(ordered) // 2] * 1000, ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1000


def _completed(dsn: str) -> list:
    import psycopg  # noqa: PLC0415

    with psycopg.connect(dsn) as connection:
        query = "select f.thread from tenure.fact f where f.type = 'execution.completed' and f.queue_key = %s"
        return connection.execute(query, [QUEUE]).fetchall()


@contextmanager
def served(dsn: str) -> Iterator[tuple[str, psutil.Process]]:
    """A ``tenure serve`` of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    log = tempfile.NamedTemporaryFile(prefix="tenure-serve-", suffix=".log")  # noqa: SIM115
    command = [
        sys.executable,
        *os.environ.get("SERVE_WITH", "").split(),
        "-m",
        "tenure.cli",
        "serve",
        "--port",
        str(port),
        "--no-ui",
    ]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TENURE_")} | {"TENURE_DSN": dsn}
    process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                if httpx.get(f"{url}/health/ready", timeout=2).status_code == 200:
                    break
            except httpx.TransportError:
                pass
            assert process.poll() is None and time.monotonic() < deadline, Path(log.name).read_text()
            time.sleep(0.1)
        yield url, psutil.Process(process.pid)
        process.terminate()
        assert process.wait(30) in (0, -15), Path(log.name).read_text()
    finally:
        process.kill()
        process.wait(10)
        if os.environ.get("KEEP_LOG"):
            shutil.copy(log.name, os.environ["KEEP_LOG"])
        log.close()


def table(figures: Figures) -> str:
    """The figures for people."""
    requests, f = sum(figures.statuses.values()), figures
    rows = [
        ("workers, each with a row and a token of its own", f"{f.workers}"),
        ("seconds", f"{f.seconds:.0f}"),
        ("requests/s", f"{requests / f.seconds:,.0f}"),
        ("jobs/s, each a claim and a completion", f"{f.jobs / f.seconds:,.0f}"),
        ("complete p50 / p99 ms", f"{f.complete_ms[0]:.0f} / {f.complete_ms[1]:.0f}"),
        ("submit to start p50 / p99 ms", f"{f.start_ms[0]:.0f} / {f.start_ms[1]:.0f}"),
        ("answers", ", ".join(f"{name}: {n:,}" for name, n in f.statuses.items())),
        ("5xx and lost", f"{f.failed}"),
        ("server memory MiB: before, then each tenth", ", ".join(f"{m:.0f}" for m in f.rss_mib)),
        ("server CPU ms a job", f"{f.server_cpu_seconds * 1000 / max(1, f.jobs):.1f}"),
        ("verify", f"{f.verified:,} subjects, {f.divergences} divergences"),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


@contextmanager
def database(dsn: str | None) -> Iterator[str]:
    """The database given, or an embedded one that is thrown away."""
    if dsn:
        yield dsn
        return
    folder = Path(tempfile.mkdtemp(prefix="tnr-load-", dir="/tmp"))
    folder.chmod(0o755)
    cluster = Cluster(folder / "data", fallbacks=[folder / "lib"])
    try:
        started = cluster.start()
        migrate(started)
        yield started
    finally:
        cluster.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--dsn")
    parser.add_argument("--clients", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.clients:
        print(json.dumps(asyncio.run(clients(json.loads(sys.stdin.readline())))))
        return 0
    with database(given.dsn) as dsn:
        figures = measure(dsn, workers=given.workers, seconds=given.seconds, processes=given.processes)
    print(table(figures))
    return 1 if figures.failed or figures.divergences or figures.completed < figures.jobs else 0


if __name__ == "__main__":
    sys.exit(main())
