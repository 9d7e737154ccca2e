"""The same work through Tenure: no-op jobs with lease, record and facts for each of them."""

from __future__ import annotations

import asyncio
import threading
import time

from tenure.sdk.client import Tenure
from tenure.sdk.worker import Worker

_TEMPLATE = "bench/job/1.0"


class Loaded:
    """A client with one no-op task, and a worker in this process."""

    def __init__(self, dsn: str) -> None:
        self.client = Tenure(dsn, tenant="bench", create_tenant=True, actor="system:bench")
        self._started: list[float] = []
        self._seen = threading.Event()
        self.client.define_template(_TEMPLATE)

        @self.client.task(queue="bench", key="nothing", template=_TEMPLATE)
        async def nothing(number: int) -> None:
            self._started.append(time.perf_counter())
            self._seen.set()

        self._task = nothing
        self.client.define_queue("bench", subject_template_codes=(_TEMPLATE,))

    def submit(self, jobs: int, batch: int) -> None:
        """Submit ``jobs`` jobs, ``batch`` in a transaction."""
        for start in range(0, jobs, batch):
            numbers = range(start, min(start + batch, jobs))
            self.client.submit_many([self._task.request(number=number) for number in numbers])

    def submit_one_by_one(self, jobs: int) -> None:
        """Submit ``jobs`` jobs, each in a transaction of its own."""
        for number in range(jobs):
            self._task.submit(number=number)

    def drain(self) -> int:
        """Run a worker until nothing is left; how many jobs it completed."""
        worker = Worker(self.client, queues=["bench"], drain=True)
        asyncio.run(worker.serve())
        return worker.report()["completed"]

    def latencies(self, jobs: int, pause: float) -> list[float]:
        """Seconds from before a submit until the handler runs, for ``jobs`` jobs one after the other."""
        worker = Worker(self.client, queues=["bench"])
        thread = threading.Thread(target=lambda: asyncio.run(worker.serve()), daemon=True)
        thread.start()
        spent = []
        for number in range(jobs + 1):
            self._seen.clear()
            begin = time.perf_counter()
            self._task.submit(number=number)
            if not self._seen.wait(10):
                break
            if number:  # the first waits until the worker has started
                spent.append(self._started[-1] - begin)
            time.sleep(pause)
        worker.stop_from_thread("measured")
        thread.join(30)
        return spent

    def close(self) -> None:
        """Close the client."""
        self.client.close()
