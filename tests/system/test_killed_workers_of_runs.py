"""Processes that start runs and work on them are killed with SIGKILL at each of their appends: every run comes to its end,
and each step's effect is applied once.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tenure.sdk.client import Tenure
from tenure.testing import MovableClock, drain
from tests.system.killed import EFFECTS, QUEUE, Life, application, begin, live

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
RUNS = 1000
TOGETHER = 4
"""So many processes work side by side on the same work, each to be killed at a place of its own."""
ORDERS = 1
"""So many of ``LIFE`` runs are orders, which do everything that a run can do; the others are notes."""
LIFE = 4
"""So many runs does a process start that is to be killed at one certain append."""
LONG_LIFE = 80
"""So many does each of those start that make up the thousand: to start a process takes longer than a run."""
_PATIENCE = 60


def define(app: Tenure) -> None:
    app.define_queue(QUEUE, max_attempts_default=10_000)
    app.define_workflow({"name": "cake", "queue": QUEUE, "steps": [{"name": "bake", "performer": "task"}],
                         "output": "$.outputs.bake"})  # fmt: skip
    app.define_workflow({"name": "note", "queue": QUEUE, "steps": [
        {"name": "ship", "performer": "task", "input": {"parts": "$.input.n"}}], "output": "$.outputs.ship"})  # fmt: skip
    app.define_workflow({
        "name": "order", "queue": QUEUE, "output": "$.outputs.ship", "steps": [
            {"name": "reserve", "performer": "task"},
            {"name": "paid", "performer": "wait", "signal": "paid", "after": "reserve"},
            {"name": "all", "performer": "map", "over": ["$.outputs.reserve", 5], "after": "reserve",
             "each": {"performer": "task", "action": "square", "input": {"n": "$.item"}}},
            {"name": "sub", "performer": "child", "workflow": "cake", "after": "reserve", "input": {"n": "$.outputs.reserve"}},
            {"name": "kept", "performer": "task", "after": "paid", "input": {"n": "$.outputs.reserve"}},
            {"name": "ship", "performer": "task", "after": ["all", "sub", "kept"],
             "input": {"parts": ["$.outputs.all", "$.outputs.sub", "$.outputs.kept", "$.outputs.paid.by"]}},
        ],
    })  # fmt: skip


def output(workflow: str, key: str) -> Any:
    """What a run gives."""
    n = len(key)
    return n if workflow == "note" else [[(n + 1) ** 2, 25], n + 1, [n + 1, n + 2], key]


class Processes:
    """Lets processes live; what became of each: whether it was killed, and at which of its appends."""

    def __init__(self) -> None:
        self._context: Any = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.system.forked"])

    def lead(self, lives: list[Life]) -> list[tuple[bool, list[str]]]:
        started = []
        for life in lives:
            ours, theirs = self._context.Pipe(duplex=False)
            process = self._context.Process(target=live, args=(life, theirs))
            process.start()
            theirs.close()
            started.append((process, ours))
        return [self._end(process, ours) for process, ours in started]

    @staticmethod
    def _end(process: Any, ours: Any) -> tuple[bool, list[str]]:
        assert ours.poll(_PATIENCE)
        appends = ours.recv()
        process.join(_PATIENCE)
        assert process.exitcode in (0, -signal.SIGKILL)
        return process.exitcode == -signal.SIGKILL, appends


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_every_append_a_thousand_runs_end_and_each_effect_is_applied_once(
    migrated_database: str, tell: Any
) -> None:
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        connection.execute("create table public.effect (subject text primary key, what text, tries int default 1)")
        connection.execute("create table public.shipment (subject text)")
    clock, processes = MovableClock(NOON), Processes()
    started: list[tuple[str, str]] = []
    hits: list[tuple[int | None, str]] = []

    def lives(places: Sequence[int | str], runs: int) -> list[Life]:
        return [_life(migrated_database, clock(), place, _fresh(started, runs)) for place in places]

    def killed_at(*places: int | str, runs: int = LIFE) -> None:
        """Let processes die there, side by side; once their leases have lapsed, another does what is left."""
        for life, (killed, appends) in zip(chosen := lives(places, runs), processes.lead(chosen), strict=True):
            if killed:
                hits.append((life.number, appends[-1]))
        clock.advance(hours=1)
        begin(app, started[-runs * len(places) :])
        drain(app, concurrency=2)

    with application(migrated_database, clock) as app:
        define(app)
        # One that lives tells how many appends there are; each of those that follow is to be killed at another of them.
        ((killed, appends),) = processes.lead([Life(migrated_database, clock(), _fresh(started))])
        assert not killed
        places = range(1, len(appends) + 1)
        for first in range(0, len(places), TOGETHER):
            killed_at(*places[first : first + TOGETHER])
        # They share the work: who got too little of it to come to its place tries again alone; then what is left, by name.
        for place in sorted(set(places) - {number for number, _ in hits}):
            killed_at(place)
        for kind in sorted(set(appends) - {kind for _, kind in hits}):
            killed_at(kind)
        far = len(places) * LONG_LIFE // LIFE
        while (rest := RUNS - len(started)) > 0:
            long = min(LONG_LIFE, -(-rest // TOGETHER))
            killed_at(*((len(started) * 37 + n * far // TOGETHER) % far + 1 for n in range(TOGETHER)), runs=long)
        _all_is_well(app, started)
    told = _each_effect_once(migrated_database, started)
    assert {kind for _, kind in hits} == set(appends)
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(kind for _, kind in hits).most_common())
    reached = len({number for number, _ in hits if number is not None} & set(places))
    tell(
        f"{reached} of {len(places)} appends of a life, {len(hits)} processes killed ({kinds}); {len(started)} runs, {told}"
    )


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_two_processes_execute_once(migrated_database: str) -> None:
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        connection.execute("create table public.effect (subject text primary key, what text, tries int default 1)")
        connection.execute("create table public.shipment (subject text)")
    clock, started = MovableClock(NOON), []
    with application(migrated_database, clock) as app:
        define(app)
        ends = Processes().lead([Life(migrated_database, clock(), _fresh(started)) for _ in range(2)])
        assert [killed for killed, _ in ends] == [False, False]
        drain(app)  # one may have looked for the last time before the other planned its last step
        _all_is_well(app, started)
    assert _each_effect_once(migrated_database, started).endswith(" 0 done again")


def _fresh(started: list[tuple[str, str]], runs: int = LIFE) -> list[tuple[str, str]]:
    """The runs of one more process."""
    begun = len(started)
    made = [("order" if n * LIFE < ORDERS * runs else "note", f"run {begun + n}") for n in range(runs)]
    started += made
    return made


def _life(dsn: str, now: datetime, place: int | str, runs: list[tuple[str, str]]) -> Life:
    if isinstance(place, str):
        return Life(dsn, now, runs, kind=place, when="after")
    return Life(dsn, now, runs, place, when="before" if place % 2 else "after")


def _all_is_well(app: Tenure, started: list[tuple[str, str]]) -> None:
    found, before = [], None
    while page := app.runs(limit=1000, before=before):
        found += page
        before = page[-1]
    ended = {(run.name, run.run_key): (run.status, run.output) for run in found if run.name in EFFECTS}
    assert ended == {one: ("COMPLETED", output(*one)) for one in started}
    report = app.verify()
    assert report.clean, report.first
    assert app.recover_runs().clean


def _each_effect_once(dsn: str, started: list[tuple[str, str]]) -> str:
    """Each effect is there once, and each step's end was applied once; how often something was taken and done anew."""
    wanted = Counter(effect for workflow, _ in started for effect in EFFECTS[workflow])
    with psycopg.connect(dsn) as connection:
        effects = connection.execute("select what, count(*), sum(tries) from public.effect group by 1").fetchall()
        assert {what: count for what, count, _ in effects} == wanted
        ((applied, distinct),) = connection.execute(
            """select count(*), count(distinct (thread, data ->> 'step', data ->> 'iteration')) from tenure.fact
            where type = 'run.runnable_applied' and data ->> 'outcome' is not null"""
        ).fetchall()
        assert applied == distinct
        ((claims, ends),) = connection.execute(
            "select count(*), count(*) filter (where record_status = 'SUCCEEDED') from tenure.attempt"
        ).fetchall()
        assert ends == sum(wanted.values()) + len(started)
        # Nothing but the transaction keeps these from being there twice.
        ((shipped, subjects),) = connection.execute(
            "select count(*), count(distinct subject) from public.shipment"
        ).fetchall()
        assert shipped == subjects == len(started)
    again = sum(tries for _, _, tries in effects) - sum(wanted.values())
    return f"{ends} effects, {shipped} of them by their transaction alone, {claims} claims, {again} done again"
