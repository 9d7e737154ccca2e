"""Does the 100,000th run of a workflow start and step as fast as the first? Two databases on one server, measured in turn.

usage: run_growth.py DSN [OLDER] [ROUNDS]     (of a superuser; makes growth_young and growth_old anew)

In ``growth_old`` one real run of five steps is copied OLDER times by SQL, with all its evidence, triggers off. Then runs are
made in both in turn: one at a time, and 200 at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import subprocess
import sys
import time

import psycopg
from psycopg.conninfo import make_conninfo

from tenure import AsyncTenure, Worker
from tenure.store.postgres.migrate import migrate

QUEUE, WORKFLOW, STEPS = "growth", "five", 5
SINGLE, MANY = 8, 200
#: The tables of a run and the columns that hold uids of its own.
TABLES = {
    "run": ("uid",),
    "runnable": ("subject", "run"),
    "run_payload": ("uid", "run"),
    "journal_checkpoint": ("thread",),
    "subject": ("uid",),
    "execution": ("uid", "last_record"),
    "attempt": ("uid", "subject"),
    "link": ("parent", "child"),
    "fact": ("thread", "lease"),
}


def app(dsn: str) -> AsyncTenure:
    client = AsyncTenure(dsn)
    flow = client.workflow(WORKFLOW, queue=QUEUE)
    for number in range(STEPS):
        flow.task(f"s{number}", action="noop", **({"after": f"s{number - 1}"} if number else {}))

    @client.task(queue=QUEUE, key="noop")
    async def noop(i: int) -> int:
        return i

    return client


async def ended(client: AsyncTenure, uids: list[int]) -> None:
    async with await psycopg.AsyncConnection.connect(client.settings.dsn or "", autocommit=True) as eyes:
        while True:
            row = await (
                await eyes.execute(
                    "select 1 from tenure.run where uid = any(%s) and status = 'RUNNING' limit 1", [uids]
                )
            ).fetchone()
            if row is None:
                return
            await asyncio.sleep(0.0005)


async def measured(client: AsyncTenure) -> dict[str, list[float]]:
    """Milliseconds: a start; a run from its start to its end, alone; each step where many are under way."""
    found: dict[str, list[float]] = {"start": [], "run": [], "step of many": []}
    for number in range(SINGLE):
        began = time.perf_counter()
        run = await client.start_run(WORKFLOW, {"i": number})
        found["start"].append((time.perf_counter() - began) * 1000)
        await ended(client, [run.run])
        found["run"].append((time.perf_counter() - began) * 1000)
    began = time.perf_counter()
    runs = await client.start_runs([{"workflow": WORKFLOW, "input": {"i": n}} for n in range(MANY)])
    await ended(client, [run.run for run in runs if not isinstance(run, Exception)])
    found["step of many"].append((time.perf_counter() - began) * 1000 / MANY / STEPS)
    return found


def copy(dsn: str, run: int, times: int) -> None:
    """Copy a run with all its evidence. What it drew from the sequence of uids lies together: a copy is that, shifted."""
    with psycopg.connect(dsn) as connection:
        connection.execute("set session_replication_role = replica")
        ((low, high),) = connection.execute(
            "select least(min(subject), %(run)s), (select last_value from tenure.uid) from tenure.runnable where run = %(run)s",
            {"run": run},
        ).fetchall()
        span = high - low + 2  # even, as every uid is: the odd one behind a lease is its record
        for table, own in TABLES.items():
            columns = [
                name
                for (name,) in connection.execute(
                    "select column_name from information_schema.columns where table_schema = 'tenure' and table_name = %s "
                    "and column_name <> 'position' and is_generated = 'NEVER' order by ordinal_position",
                    [table],
                )
            ]
            shifted = [
                f"case when t.{c} between {low} and {high} then t.{c} + g * {span} else t.{c} end"
                if c in own
                else f"t.{c}"
                for c in columns
            ]
            key = own[0]
            connection.execute(
                f"insert into tenure.{table} ({', '.join(columns)}) select {', '.join(shifted)} "
                f"from tenure.{table} t, generate_series(1, {times}) g where t.{key} between {low} and {high}"
            )
        connection.execute("select setval('tenure.uid', %s)", [high + (times + 1) * span])
    with psycopg.connect(dsn, autocommit=True) as connection:
        for table in TABLES:
            connection.execute(f"vacuum analyze tenure.{table}")


async def main() -> None:
    admin, older, rounds = sys.argv[1], int((sys.argv[2:3] or ["100000"])[0]), int((sys.argv[3:4] or ["5"])[0])
    clients = {}
    workers = []
    for name in ("young", "old"):
        dsn = make_conninfo(admin, dbname=f"growth_{name}")
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(f"drop database if exists growth_{name} with (force)")
            connection.execute(f"create database growth_{name}")
        migrate(dsn)
        clients[name] = app(dsn)
        await clients[name].define_queue(QUEUE)
        await clients[name].define_workflows()
        workers.append(subprocess.Popen([sys.executable, __file__, "worker", dsn]))  # noqa: ASYNC220
        run = await clients[name].start_run(WORKFLOW, {"i": -1})
        await ended(clients[name], [run.run])
        if name == "old":
            began = time.monotonic()
            await asyncio.to_thread(copy, dsn, run.run, older)
            print(f"{older} older runs in {time.monotonic() - began:.0f} s", flush=True)
    found: dict[str, dict[str, list[float]]] = {name: {} for name in clients}
    for number in range(rounds + 1):
        for name, client in clients.items():
            for what, values in (await measured(client)).items():
                if number:  # the first round warms
                    found[name].setdefault(what, []).extend(values)
    for what in found["young"]:
        young, old = (statistics.median(found[name][what]) for name in ("young", "old"))
        print(f"{what:14} {young:8.2f} ms beside nothing, {old:8.2f} ms beside {older} older runs: {old / young:.2f}")
    print("load", os.getloadavg()[0])
    for worker in workers:
        worker.terminate()
        worker.wait(20)


async def work(dsn: str) -> None:
    worker = Worker(app(dsn), concurrency=200)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    await worker.serve()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[2]) if sys.argv[1] == "worker" else main())
