"""The same request from several at the same moment: done once, and everyone gets an answer."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tenure.model.errors import TenureError
from tenure.sdk.token import Token
from tenure.testing.store_contract.bench import Bench

MANY = 4
ROUNDS = range(4)
SECRET = Token("secret")


def together(bench: Bench, act: Callable[[Bench, int], Any]) -> list[Any]:
    """What each of several threads, let loose at once, was answered."""
    start = threading.Barrier(MANY)

    def one(number: int) -> Any:
        with bench.beside() as mine:
            start.wait(10)
            try:
                return act(mine, number)
            except TenureError as refused:
                return refused

    with ThreadPoolExecutor(MANY) as pool:
        return list(pool.map(one, range(MANY)))


@pytest.mark.parametrize("number", ROUNDS)
def test_worker_registered_by_several_processes_is_one_worker(bench: Bench, number: int) -> None:
    workers = together(bench, lambda mine, _: mine.worker("w"))

    assert {worker.uid for worker in workers} == {bench.workers_all()[0].uid}
    assert sorted(worker.incarnation for worker in workers) == [1, 2, 3, 4]


@pytest.mark.parametrize("number", ROUNDS)
@pytest.mark.parametrize("known", [False, True], ids=["new templates", "known templates"])
def test_queue_defined_by_several_processes_is_one_queue(bench: Bench, number: int, known: bool) -> None:
    if known:
        bench.define_queue("first", subject_template_codes=("a/1.0", "b/1.0"))

    queues = together(bench, lambda mine, _: mine.define_queue("q", subject_template_codes=("a/1.0", "b/1.0")))

    assert [getattr(queue, "uid", queue) for queue in queues] == [bench.queue("q").uid] * MANY


@pytest.mark.parametrize("number", ROUNDS)
def test_tenant_created_by_several_processes_is_one_tenant(bench: Bench, number: int) -> None:
    key = f"{bench.caller.tenant_key}-fresh"

    tenants = together(bench, lambda mine, _: mine.other_tenant(key).tenant)

    assert len(set(tenants)) == 1


@pytest.mark.parametrize("number", ROUNDS)
def test_submission_sent_by_several_creates_one_subject(bench: Bench, number: int) -> None:
    bench.define_queue("q")

    answers = together(bench, lambda mine, _: mine.submit(queue_key="q", idempotency_key="key"))

    assert Counter(answer.replayed for answer in answers) == {False: 1, True: MANY - 1}
    assert {str(answer.as_dict()) for answer in answers} == {str(answers[0].as_dict())}
    assert len(bench.visible()) == 1


@pytest.mark.parametrize("number", ROUNDS)
def test_external_reference_claimed_by_several_is_given_to_one(bench: Bench, number: int) -> None:
    bench.define_queue("q")

    answers = together(bench, lambda mine, _: mine.submit(queue_key="q", external_ref="MX7"))

    assert Counter(getattr(answer, "code", "created") for answer in answers) == {
        "created": 1,
        "already_exists": MANY - 1,
    }


@pytest.mark.parametrize("number", ROUNDS)
def test_completion_sent_by_several_is_done_once(bench: Bench, number: int) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    held = bench.run_it(bench.worker(), token=SECRET)

    answers = together(bench, lambda mine, _: mine.complete(held, result={"volume": 1}))

    assert Counter(answer.replayed for answer in answers) == {False: 1, True: MANY - 1}
    assert bench.types(subject).count("execution.completed") == 1


@pytest.mark.parametrize("number", ROUNDS)
def test_claim_sent_by_several_under_one_key_takes_once(bench: Bench, number: int) -> None:
    bench.define_queue("q")
    for _ in range(MANY * 2):
        bench.subject()
    worker = bench.worker()

    answers = together(bench, lambda mine, _: mine.claim(worker, "q", limit=2, idempotency_key="key", token=SECRET))

    assert {tuple(sorted(lease.lease for lease in answer)) for answer in answers} == {
        tuple(sorted(row.attempt.uid for row in bench.leases()))
    }
    assert len(bench.leases()) == 2


@pytest.mark.parametrize("number", ROUNDS)
def test_worker_claiming_from_several_threads_keeps_its_limit(bench: Bench, number: int) -> None:
    bench.define_queue("q")
    for _ in range(20):
        bench.subject()
    worker = bench.worker(max_concurrent_leases=5)

    together(bench, lambda mine, _: mine.claim(worker, "q", limit=3))

    assert len(bench.leases()) == 5


@pytest.mark.parametrize("number", ROUNDS)
def test_slots_claimed_by_several_are_all_different(bench: Bench, number: int) -> None:
    bench.define_queue("q")
    subject = bench.subject(slots=3)
    workers = [bench.worker(f"w{n}") for n in range(MANY)]

    def claim_until_full(mine: Bench, n: int) -> list[Any]:
        # A subject that another is just claiming is skipped, not waited for.
        while not (found := mine.claim(workers[n], "q")) and mine.depth():
            pass
        return list(found)

    together(bench, claim_until_full)

    live = bench.thread(subject).live_attempts
    assert [attempt.slot for attempt in live] == [1, 2, 3]
    assert len({attempt.worker for attempt in live}) == 3


@pytest.mark.parametrize("number", ROUNDS)
def test_subject_held_and_completed_at_once_ends_in_one_of_both_ways(bench: Bench, number: int) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    held = bench.run_it(bench.worker(), token=SECRET)

    answers = together(
        bench,
        lambda mine, n: mine.complete(held) if n == 0 else mine.hold(subject, reason="stop", idempotency_key="stop"),
    )

    codes = {getattr(answer, "code", "done") for answer in answers}
    assert (bench.state(subject), codes) in [
        ("COMPLETED", {"done", "invalid_transition"}), ("HELD", {"done", "stale_lease"}),
    ]  # fmt: skip
    assert bench.verify(subject=subject).clean
