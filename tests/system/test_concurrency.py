"""Eight clients do everything at once to the same subjects; then every thread must prove itself."""

from __future__ import annotations

import random
import secrets
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tenure import Tenure
from tenure.model.errors import Conflict
from tenure.sdk.token import Token

THREADS = 8
SUBJECTS = 2_000
ROUNDS = 120


class Client:
    """One thread: a worker that also meddles as an operator, by a random walk with a seed."""

    def __init__(self, dsn: str, seed: int, subjects: list[int]) -> None:
        self.app = Tenure(dsn, max_connections=1, actor=f"user:{seed}")
        self.worker = self.app.register_worker(f"w{seed}", max_concurrent_leases=100)
        self.chance = random.Random(seed)  # noqa: S311
        self.subjects = subjects
        self.counts: Counter[str] = Counter()

    def walk(self) -> None:
        for _ in range(ROUNDS):
            self.work()
            self.meddle()
        self.app.close()

    def work(self) -> None:
        for lease in self.app.claim(self.worker, "q", limit=self.chance.randint(1, 8), start=True):
            self.counts["claims"] += 1
            choice = self.chance.random()
            if choice < 0.45:
                self.perform("complete", lease, result=self.chance.randrange(10))
            elif choice < 0.6:
                self.perform("complete", lease, next_queue_key="q", result=None)
            elif choice < 0.75:
                self.perform("fail", lease, retryable=self.chance.random() < 0.9)
            elif choice < 0.9:
                self.perform("release_lease", lease)
            else:
                self.perform("renew", lease, ttl_seconds=1000)
                self.perform("complete", lease)

    def meddle(self) -> None:
        """Mostly on few subjects, so that the clients meet."""
        few = self.subjects[:40] if self.chance.random() < 0.7 else self.subjects
        subject = self.chance.choice(few)
        action = self.chance.choice(["hold", "hold", "release_hold", "release_hold", "requeue", "claim", "cancel"])
        if action == "hold":
            self.perform("hold", subject, reason="look at it")
        elif action == "release_hold":
            self.perform("release_hold", subject)
        elif action == "requeue":
            seen = self.app.inspect(subject).situation.thread.envelope
            self.perform(
                "requeue", subject, queue_key="q", priority=self.chance.randrange(5), expected_revision=seen.revision,
                reopen=True, reason="again",
            )  # fmt: skip
        elif action == "cancel" and self.chance.random() < 0.3:
            self.perform("cancel", subject, reason="no more")
        elif action == "claim":
            self.perform("claim", self.worker, "q", subject=subject, token=Token())

    def perform(self, action: str, *args, **fields) -> None:
        """Now and then with a key and twice, as a client does that got no answer."""
        twice = self.chance.random() < 0.1
        if twice:
            fields["idempotency_key"] = secrets.token_hex(8)
        for _ in range(1 + twice):
            try:
                result = getattr(self.app, action)(*args, **fields)
                self.counts["replays"] += getattr(result, "replayed", False)
                self.counts[action] += 1
            except Conflict:
                self.counts["conflicts"] += 1


@pytest.mark.slow
def test_whatever_eight_clients_do_at_once_every_thread_proves_itself(migrated_database, tell):
    with Tenure(migrated_database) as app:
        app.define_queue("q", retry_policy={"initial_delay_seconds": 0}, max_attempts_default=50)
        subjects = [outcome.subject for outcome in app.submit_many([{"queue_key": "q"}] * SUBJECTS)]
        clients = [Client(migrated_database, seed, subjects) for seed in range(THREADS)]
        together = threading.Barrier(THREADS)

        def begin(client: Client) -> None:
            together.wait()
            client.walk()

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(begin, clients))
        counts = sum((client.counts for client in clients), Counter())
        tell(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
        report = app.verify(everything=True)

    assert report.clean, report
    assert report.subjects == SUBJECTS
    expected = ("claims", "conflicts", "replays", "complete", "fail", "release_lease", "renew", "hold", "release_hold",
                "requeue", "cancel", "claim")  # fmt: skip
    assert all(counts[name] > 0 for name in expected), counts
