"""Events out: how many a second one relay sends to one webhook, and what it holds in memory while its receiver is away.

    python bench/relay.py --events 20000 --threads 2000

A real ``tenure relay`` in a process of its own, a receiver in another that only counts, on a fresh embedded PostgreSQL. First
the receiver is away for --away seconds with all events waiting, then it is up. Exits with 1 where an event was lost, came
out of the order of its thread, or ``verify`` finds anything.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from tenure import Tenure
from tenure.embedded import Cluster
from tenure.store.postgres.migrate import migrate

MIB = 2**20
_OK = b"HTTP/1.1 204 No Content\r\n\r\n"


def receive(port: int, came: Any, wanted: int) -> None:
    """Take events until so many came; then hand over their subjects and numbers in order."""

    async def serve() -> None:
        seen: list[tuple[str, int]] = []
        all_there = asyncio.Event()

        async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while head := await reader.readuntil(b"\r\n\r\n"):
                    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                    event = json.loads(await reader.readexactly(length))
                    seen.append((event["subject"], int(event["sequence"])))
                    writer.write(_OK)
                    if len(seen) >= wanted:
                        all_there.set()
            except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
                writer.close()

        async with await asyncio.start_server(one, "127.0.0.1", port):
            await all_there.wait()
        came.send((time.monotonic(), seen))

    asyncio.run(serve())


def told(dsn: str, events: int, threads: int, port: int) -> None:
    """Tell that many events of that many threads to a subscription."""
    with Tenure(dsn) as client:
        client.define_queue("q")
        hook = {"kind": "webhook", "url": f"http://127.0.0.1:{port}/", "allow_private": True, "concurrency": 16}
        wanted = {"types": ["subject.submitted", "hold.placed"]}
        backoff = {"initial_delay_seconds": 0.5, "max_delay_seconds": 1}
        client.define_subscription("bench", actor="service:bench", filter=wanted, destination=hook, backoff=backoff)
        subjects = [made.subject for made in client.submit_many([{"queue_key": "q"} for _ in range(threads)])]
        for number in range(0, events - threads, 100):
            with client.transaction() as together:
                for each in range(number, min(number + 100, events - threads)):
                    together.hold(subjects[each % threads], reason="bench")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=2_000)
    parser.add_argument("--away", type=float, default=10.0)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tnb-", dir="/tmp"))
    folder.chmod(0o755)
    cluster = Cluster(folder / "pg", fallbacks=[folder / "lib"])
    try:
        dsn = cluster.start()
        migrate(dsn)
        return measured(dsn, given.events, given.threads, given.away)
    finally:
        cluster.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


def attempts(dsn: str) -> int:
    """How many attempts to deliver have failed so far."""
    with Tenure(dsn) as client:
        failed: int = client.subscription("bench").failed
        return failed


def measured(dsn: str, events: int, threads: int, away: float) -> int:
    """Send all of it once; the exit status."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    told(dsn, events, threads, port)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TENURE_")}
    command = [sys.executable, "-m", "tenure.cli", "relay", "--poll", "0.1"]
    with subprocess.Popen(command, env=environment | {"TENURE_DSN": dsn}, stderr=subprocess.DEVNULL) as relay:
        process = psutil.Process(relay.pid)
        while not attempts(dsn):
            time.sleep(0.1)
        time.sleep(away)
        waiting, before = process.memory_info().rss, process.cpu_times()
        ours, theirs = multiprocessing.Pipe(duplex=False)
        receiver = multiprocessing.Process(target=receive, args=(port, theirs, events))
        begun = time.monotonic()
        receiver.start()
        ended, seen = ours.recv()
        busy, spent = process.memory_info().rss, process.cpu_times()
        relay.terminate()
    receiver.join(10)
    with Tenure(dsn) as client:
        standing = client.subscription("bench")
        clean = client.verify().clean
    first: dict[tuple[str, int], int] = {}
    for place, key in enumerate(seen):
        first.setdefault(key, place)
    ordered = all(first[s, n] > first[s, n - 1] for s, n in first if (s, n - 1) in first)
    whole = len(first) == events and standing.open_dead_letters == 0
    print(f"events {events:,} of {threads:,} threads, receiver away for {away:g} s")
    print(f"attempts while it was away {standing.failed:,}, memory of the relay meanwhile {waiting / MIB:.0f} MiB")
    cpu = spent.user + spent.system - before.user - before.system
    print(f"once it was back: {events / (ended - begun):,.0f} events/s, {busy / MIB:.0f} MiB, "
          f"{cpu / events * 1000:.2f} ms of CPU an event in the relay")  # fmt: skip
    print(f"all there {whole}, in order {ordered}, came twice {len(seen) - len(first):,}, verify clean {clean}")
    return 0 if whole and ordered and clean else 1


if __name__ == "__main__":
    raise SystemExit(main())
