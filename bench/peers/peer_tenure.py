"""Tenure through its own public API, with full evidence: record, facts, hash chain and law for every job.

Settings: batch, concurrency, prefetch, notify.
"""

import asyncio
import signal

import uvloop
from cli import DSN, SET, latency, main, timed
from shm import make_tick, ready_go

from tenure import AsyncTenure, Worker
from tenure.model.requests import SubmitSubject
from tenure.store.postgres.migrate import migrate


def app():
    return AsyncTenure(DSN, notify=SET.get("notify", True))


class Peer:
    async def setup(self):
        migrate(DSN)
        async with app() as a:
            await a.define_queue("bench")

    async def bulk(self, n):
        async with app() as a:
            await a.queues()
            # Requests are made beforehand, as the jobs of the other peers are.
            jobs = [SubmitSubject(queue_key="bench", properties={"i": k}) for k in range(n)]
            await timed(lambda: a.submit_many(jobs), n)

    async def single(self, n):
        async with app() as a:
            await a.queues()

            async def go():
                for k in range(n):
                    await a.submit(queue_key="bench", properties={"i": k})

            await timed(go, n)

    async def latency(self, n):
        async with app() as a:
            await a.queues()
            await latency(n, lambda i: a.submit(queue_key="bench", properties={"i": i}))

    async def worker(self, slot):
        tick = make_tick(slot)
        a = app()

        @a.task(queue="bench", key="noop")
        async def noop(i: int) -> None:
            tick(i)

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
