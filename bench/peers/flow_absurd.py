"""A task of five no-op steps in Absurd, spawned into a queue; settings: concurrency, batch, poll."""

import asyncio
import os
import subprocess
import sys

import psycopg
from absurd_sdk import Absurd, AsyncAbsurd
from cli import DSN, SET, main, one_by_one, timed
from shm import make_tick, ready_go


class Peer:
    async def setup(self):
        await asyncio.to_thread(
            subprocess.run,
            [os.path.dirname(sys.executable) + "/absurdctl", "init"],
            check=True,
            capture_output=True,
            env={**os.environ, "PGDATABASE": DSN, "PATH": os.environ["BENCH_ROOT"] + "/pg/bin:" + os.environ["PATH"]},
        )
        a = Absurd(DSN, queue_name="default")
        a.create_queue("default", storage_mode=SET.get("storage", "unpartitioned"))
        a.close()

    async def bulk(self, n):
        async with await psycopg.AsyncConnection.connect(DSN, autocommit=True) as conn:

            async def go():
                await conn.execute(
                    "select count(s.task_id) from generate_series(0,%s-1) g, "
                    "absurd.spawn_task('default','five',jsonb_build_object('i',g),'{}') s",
                    (n,),
                )

            await timed(go, n)

    async def latency(self, n):
        a = AsyncAbsurd(DSN, queue_name="default")
        await one_by_one(n, lambda i: a.spawn("five", {"i": i}, queue="default"))

    async def worker(self, slot):
        tick = make_tick(slot)
        a = AsyncAbsurd(DSN, queue_name="default")

        @a.register_task("five")
        async def five(params, ctx):
            async def noop():
                tick(params["i"])
                return params["i"]

            for k in range(5):
                await ctx.step(f"s{k}", noop)
            return params["i"]

        kw = {
            "worker_id": f"w{slot}",
            "concurrency": SET.get("concurrency", 50),
            "poll_interval": SET.get("poll", 0.25),
        }
        if SET.get("batch"):
            kw["batch_size"] = SET["batch"]
        ready_go()
        await a.start_worker(**kw)


if __name__ == "__main__":
    main(Peer())
