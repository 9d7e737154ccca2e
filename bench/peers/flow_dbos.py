"""A workflow of five no-op steps in DBOS, enqueued; settings: kind (sync, async), poll, wc."""

import asyncio
import os
import signal

import sqlalchemy as sa
from cli import DSN, SET, main, one_by_one, timed
from dbos import DBOS, DBOSClient
from shm import make_tick, ready_go

TICK = [None]
if SET.get("kind", "sync") == "sync":

    @DBOS.step()
    def noop(i):
        TICK[0](i)
        return i

    @DBOS.workflow(name="five")
    def five(i):
        for _ in range(5):
            noop(i)
        return i
else:

    @DBOS.step()
    async def noop(i):
        TICK[0](i)
        return i

    @DBOS.workflow(name="five")
    async def five(i):
        for _ in range(5):
            await noop(i)
        return i


OPT = {"queue_name": "bench", "workflow_name": "five"}


def launch(slot):
    DBOS(
        config={
            "name": "bench",
            "system_database_url": DSN,
            "log_level": "WARNING",
            "application_version": "v1",
            "executor_id": f"ex{slot}",
            "run_admin_server": False,
            "enable_otlp": False,
            **({"sys_db_pool_size": SET["pool"]} if "pool" in SET else {}),
        }
    )
    DBOS.launch()


class Peer:
    async def setup(self):
        launch(0)
        await DBOS.register_queue_async(
            "bench",
            polling_interval_sec=SET.get("poll", 0.1),
            **({"worker_concurrency": SET["wc"]} if "wc" in SET else {}),
        )
        DBOS.destroy()

    async def bulk(self, n):
        c = DBOSClient(system_database_url=DSN)

        async def go():
            with c._sys_db.engine.begin() as conn:
                conn.execute(
                    sa.text(
                        "select count(dbos.enqueue_workflow('five','bench', ARRAY[to_json(g)]::json[]))"
                        " from generate_series(0,:n-1) g"
                    ),
                    {"n": n},
                )

        await timed(go, n)

    async def latency(self, n):
        c = DBOSClient(system_database_url=DSN)

        async def one(i):
            c.enqueue(OPT, i)

        await one_by_one(n, one)

    async def worker(self, slot):
        TICK[0] = make_tick(slot)
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        ready_go()
        launch(slot)
        await stop.wait()
        os._exit(0)


if __name__ == "__main__":
    main(Peer())
