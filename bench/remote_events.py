"""Execution events over HTTP: so many a minute, some of them doubled, some too early, and never a wrong state (S5).

    python bench/remote_events.py --events 10000 --rate 10000 [--batch 20]

A real ``tenure serve`` in a process of its own on a fresh embedded PostgreSQL (or --dsn, a migrated database); the emitters
are in this process. Each submission is accepted, runs and ends; events of one submission go over one connection in their
order, but for those that come too early, which are refused and sent again, as S5's producers do. Prints figures; exits with 1
where a request failed on the server's side, where any submission is not as its events say, or where ``verify`` finds anything.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random

import psutil
import psycopg
from http_load import Wire, _spread, database, served

from tenure import Tenure

EVENTS = "/api/v1/remote/events"
NODE = "bench"
SPEC = {
    "queues": {"normal": {"partition": "cpu"}},
    "silent_after_seconds": 86400,
    "lease_seconds": 86400,
    "max_attempts": 1,
}
AHEAD = 500


@dataclass
class Figures:
    """What was measured."""

    sent: int = 0
    seconds: float = 0
    answers: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)
    """By how much each was sent later than it was due."""
    server_cpu_seconds: float = 0
    wrong: list[str] = field(default_factory=list)
    verified: int = 0
    divergences: int = 0

    @property
    def failed(self) -> int:
        """Events that failed on the server's side, or had no answer."""
        return sum(n for name, n in self.answers.items() if name == "lost" or name[:1] == "5")


@dataclass(frozen=True)
class Sending:
    """One event that is to be sent, and what S5 says to it."""

    event: dict
    expected: str


def story(work: dict, random: Random, doubled: float, early: float) -> tuple[list[Sending], str]:
    """What is sent of one submission, in order, and what the product must know at the end."""
    good = random.random() < 0.9
    joins = ("tenant_id", "workspace_id", "job_id", "submission_id", "execution_id", "trace_id")
    told = {name: work[name] for name in joins} | {"scheduler_ref": {"slurm_job_id": str(random.randrange(10**6))}}
    events = [
        told | {"event_id": str(uuid.UUID(int=random.getrandbits(128))), "state": state, "occurred_at": "2026-03-01T12:00:00Z"}
        for state in ("accepted", "running", "completed" if good else "failed")
    ]  # fmt: skip
    events[-1] |= (
        {"result_ref": {"output_uri": "s3://bench/out"}} if good
        else {"error": {"code": "EXIT_1", "message": "It ended with 1.", "retryable": False}}
    )  # fmt: skip
    sendings: list[Sending] = []
    for n, event in enumerate(events):
        following = events[n + 1]["state"] if n + 1 < len(events) else None
        if following not in (None, "failed") and random.random() < early:  # `failed` may follow `accepted`
            sendings.append(Sending(events[n + 1], "invalid_transition"))
        sendings.append(Sending(event, "applied"))
        if random.random() < doubled:
            sendings.append(Sending(random.choice(events[: n + 1]), "duplicate"))
    return sendings, "succeeded" if good else "failed"


def prepare(app: Tenure, jobs: int) -> list[dict]:
    """Submissions that were handed out, as the node has them."""
    app.define_node(NODE, **SPEC)
    app.poll_node(NODE, {"agent_id": "bench"})

    def submit(number: int) -> None:
        app.submit_job({
            "tenant_id": "default", "workspace_id": "bench", "job_id": f"job-{number}", "idempotency_key": f"k-{number}",
            "management_node_id": NODE, "execution_profile": {"queue_name": "normal"}, "requested_by": {"user_id": "bench"},
            "resource_shape": {"cpu": 1, "memory_mib": 100, "walltime_seconds": 60}, "payload_ref": {"input_uri": "s3://in"},
        })  # fmt: skip

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(submit, range(jobs)))
    works: dict[str, dict] = {}
    while len(works) < jobs:
        said = {"agent_id": "bench", "accepting": AHEAD, "holding": list(works)[-5000:]}
        fresh = [work.wire() for work in app.poll_node(NODE, said).work]
        assert fresh, "nothing more was handed out"
        works |= {work["execution_id"]: work for work in fresh}
    return list(works.values())


async def emit(
    url: str, secret: str, lanes: list[list[Sending]], rate_per_second: float, batch: int, figures: Figures
) -> None:
    """Send the lanes side by side, each in order, at this rate together."""
    begin = time.perf_counter()

    async def lane(sendings: list[Sending], number: int) -> None:
        wire = Wire(url, secret)
        share = rate_per_second / len(lanes)
        for first in range(0, len(sendings), batch):
            part = sendings[first : first + batch]
            due = begin + (first + number / len(lanes)) / share
            await asyncio.sleep(max(0, due - time.perf_counter()))
            sent = time.perf_counter()
            figures.lags.append(sent - due)
            try:
                results = await _send(wire, part)
            except (OSError, EOFError):
                results = ["lost"] * len(part)
            figures.times.append(time.perf_counter() - sent)
            for sending, result in zip(part, results, strict=True):
                figures.answers[result] += 1
                if result.partition(" ")[2] != sending.expected:
                    figures.wrong.append(f"{sending.event['state']}: {result}, not {sending.expected}")

    await asyncio.gather(*(lane(sendings, number) for number, sendings in enumerate(lanes)))
    figures.seconds = time.perf_counter() - begin


async def _send(wire: Wire, part: list[Sending]) -> list[str]:
    if len(part) == 1:
        status, _, answer = await wire.post(EVENTS, part[0].event)
        told = json.loads(answer)
        return [f"{status} {told.get('outcome') or told.get('code')}"]
    status, _, answer = await wire.post(f"{EVENTS}/batch", {"events": [sending.event for sending in part]})
    if status != 200:
        return [f"{status} {json.loads(answer).get('code')}"] * len(part)
    results = json.loads(answer)["results"]
    return [f"{r['status']} {r['code'] or r['received']['outcome']}" for r in results]


def check(dsn: str, ends: dict[str, str], events: int, figures: Figures) -> None:
    """Compare how everything stands with what the events say."""
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "select s.job_id, s.projection_state, e.state::text, x.state, x.ended_at from tenure.remote_submission s"
            " join tenure.execution e on e.uid = s.subject join tenure.remote_execution x on x.submission = s.uid"
        ).fetchall()
        told = connection.execute("select count(*) from tenure.fact where type = 'execution_event.received'").fetchone()
        updates = connection.execute(
            "select thread, array_agg(data ->> 'projection_state' order by seq) from tenure.fact"
            " where type = 'projection.updated' group by 1"
        ).fetchall()  # fmt: skip
    ought = {"succeeded": ("COMPLETED", "completed"), "failed": ("FAILED_TERMINAL", "failed")}
    for job, projection, state, execution, ended in rows:
        if (projection, state, execution) != (ends[job], *ought[ends[job]]) or ended is None:
            figures.wrong.append(f"{job} is {projection}, {state}, {execution}; its events say {ends[job]}")
    if len(rows) != len(ends) or told is None or told[0] != events:
        figures.wrong.append(f"{len(rows)} submissions with {told} events, not {len(ends)} with {events}")
    for thread, states in updates:
        if states[:3] != ["queued", "queued", "running"] or len(states) != 4:
            figures.wrong.append(f"{thread} told {states}")


def measure(
    dsn: str, events: int, rate: float, batch: int, doubled: float, early: float, lanes: int, seed: int
) -> Figures:
    """Run it on a migrated database."""
    figures, random = Figures(), Random(seed)
    with Tenure(dsn, actor="user:bench", max_connections=4) as app, served(dsn) as (url, server):
        jobs = max(1, round(events / 3 / (1 + doubled + early * 2 / 3)))
        works = prepare(app, jobs)
        secret = str(app.create_token(app.node(NODE).principal).secret.reveal())
        ends: dict[str, str] = {}
        shares: list[list[Sending]] = [[] for _ in range(lanes)]
        stories = []
        for work in works:
            sendings, ends[work["job_id"]] = story(work, random, doubled, early)
            stories.append(sendings)
        # A lane tells of several submissions at once, so that their events are mixed as those of a node are.
        for lane in range(lanes):
            mine = stories[lane::lanes]
            while mine:
                chosen = random.randrange(min(len(mine), 20))
                shares[lane].append(mine[chosen].pop(0))
                if not mine[chosen]:
                    mine.pop(chosen)
        figures.sent = sum(map(len, shares))
        used = sum(server.cpu_times()[:2])
        asyncio.run(emit(url, secret, shares, rate / 60, batch, figures))
        figures.server_cpu_seconds = sum(server.cpu_times()[:2]) - used
        report = app.verify()
        figures.verified, figures.divergences = report.submissions, sum(report.found.values())
        check(dsn, ends, 3 * jobs, figures)
    return figures


def table(figures: Figures, batch: int) -> str:
    """The figures for people."""
    f = figures
    p50, p99 = _spread(f.times)
    load = ", ".join(f"{each:.1f}" for each in psutil.getloadavg())
    rows = [
        ("events sent, in requests of", f"{f.sent:,}, {batch}"),
        ("events a minute", f"{f.sent / f.seconds * 60:,.0f}"),
        ("request p50 / p99 ms", f"{p50:.0f} / {p99:.0f}"),
        ("sent later than due, p99 ms", f"{_spread(f.lags)[1]:.0f}"),
        ("answers", ", ".join(f"{name}: {n:,}" for name, n in sorted(f.answers.items()))),
        ("5xx and lost", f"{f.failed}"),
        ("wrong", f"{len(f.wrong)}"),
        ("server CPU ms an event", f"{f.server_cpu_seconds * 1000 / max(1, f.sent):.1f}"),
        ("verify", f"{f.verified:,} submissions, {f.divergences} divergences"),
        ("load of the machine, 1, 5, 15 minutes", load),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def main() -> int:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=10_000, help="events a minute")
    parser.add_argument("--batch", type=int, default=1, help="events in a request")
    parser.add_argument("--doubled", type=float, default=0.10, help="share of events that come again")
    parser.add_argument("--early", type=float, default=0.05, help="share of events that come too early")
    parser.add_argument("--lanes", type=int, default=16, help="connections")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dsn")
    given = parser.parse_args()
    with database(given.dsn) as dsn:
        figures = measure(
            dsn, given.events, given.rate, given.batch, given.doubled, given.early, given.lanes, given.seed
        )
    print(table(figures, given.batch))
    for wrong in figures.wrong[:10]:
        print("wrong:", wrong)
    return 1 if figures.failed or figures.wrong or figures.divergences else 0


if __name__ == "__main__":
    sys.exit(main())
