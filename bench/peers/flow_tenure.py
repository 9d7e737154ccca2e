"""A workflow of five no-op steps in Tenure: each step a subject of its own, with lease, record and chained facts.

Settings: batch, concurrency, prefetch.
"""

import asyncio
import signal

import uvloop
from cli import DSN, SET, main, one_by_one, timed
from shm import make_tick, ready_go

from tenure import AsyncTenure, Worker
from tenure.store.postgres.migrate import migrate

STEPS = [f"s{k}" for k in range(5)]


def app():
    a = AsyncTenure(DSN)
    flow = a.workflow("five", queue="bench", output="$.outputs.s4")
    for before, name in zip([None, *STEPS], STEPS, strict=False):
        flow.task(name, **({"after": before} if before else {}), action="noop", input={"i": "$.input.i"})
    return a


class Peer:
    async def setup(self):
        migrate(DSN)
        async with app() as a:
            await a.define_queue("bench")
            await a.define_workflows()

    async def bulk(self, n):
        async with app() as a:

            async def go():
                for k in range(0, n, 500):
                    await a.start_runs([{"workflow": "five", "input": {"i": j}} for j in range(k, min(n, k + 500))])

            await timed(go, n)

    async def latency(self, n):
        async with app() as a:
            await a.queues()
            await one_by_one(n, lambda i: a.start_run("five", {"i": i}))

    async def worker(self, slot):
        tick = make_tick(slot)
        a = app()

        @a.task(queue="bench", key="noop")
        async def noop(i: int) -> int:
            tick(i)
            return i

        await a.queues()
        w = Worker(
            a, concurrency=SET.get("concurrency", 500), prefetch=SET.get("prefetch", 500), batch=SET.get("batch", 300)
        )
        loop = asyncio.get_running_loop()
        for s in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(s, w.stop)
        ready_go()
        await w.serve()


if __name__ == "__main__":
    main(Peer(), uvloop.run)
