"""Reading back: history, the envelope as it was, lists, and a clean verification (design 01, Reading and Verify)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tenure.model.states import LeaseStatus
from tenure.testing.store_contract.bench import Bench


@pytest.fixture
def story(bench: Bench) -> tuple[Bench, int, list[Any]]:
    """A subject with a past, and its envelope after each of the steps, ten seconds apart."""
    bench.define_queue("q")
    worker = bench.worker()
    envelopes = []

    def note() -> None:
        envelopes.append((bench.now, bench.envelope(subject)))
        bench.later(10)

    subject = bench.subject(priority=2, properties={"tube": "A1"})
    note()
    held = bench.run_it(worker)
    note()
    bench.fail(held, retryable=True, retry_after_seconds=5, error_message="the door jammed")
    note()
    bench.hold(subject, reason="look at it")
    note()
    bench.release_hold(subject)
    note()
    bench.complete(bench.run_it(worker), result={"volume": 1.5})
    note()
    return bench, subject, envelopes


def test_envelope_as_of_each_seq_is_what_it_was(story: tuple[Bench, int, list[Any]]) -> None:
    bench, subject, envelopes = story

    assert [bench.as_of(subject, seq=env.seq) for _, env in envelopes] == [env for _, env in envelopes]


def test_envelope_as_of_each_time_is_what_it_was(story: tuple[Bench, int, list[Any]]) -> None:
    bench, subject, envelopes = story

    assert [bench.as_of(subject, at=at) for at, _ in envelopes] == [env for _, env in envelopes]


def test_envelope_as_of_now_is_what_it_is(story: tuple[Bench, int, list[Any]]) -> None:
    bench, subject, _ = story

    assert bench.as_of(subject, at=bench.now) == bench.envelope(subject)


def test_history_tells_everything_in_order(story: tuple[Bench, int, list[Any]]) -> None:
    bench, subject, _ = story

    history = bench.history(subject)

    assert [fact.type for fact in history.facts] == [
        "subject.submitted", "lease.claimed", "execution.failed", "hold.placed", "hold.released", "lease.claimed",
        "execution.completed",
    ]  # fmt: skip
    assert [(row.error_message, row.result) for row in history.attempts] == [
        ("the door jammed", None), (None, {"volume": 1.5}),
    ]  # fmt: skip
    assert history.subject.properties == {"tube": "A1"}


def test_facts_are_numbered_without_gaps_and_chained(story: tuple[Bench, int, list[Any]]) -> None:
    bench, subject, _ = story

    facts = bench.facts(subject)

    assert [fact.seq for fact in facts] == list(range(1, len(facts) + 1))
    assert [fact.content_hash(before.hash) for before, fact in pairwise(facts)] == [fact.hash for fact in facts[1:]]
    assert facts[0].content_hash(b"") == facts[0].hash
    assert bench.envelope(subject).head == facts[-1].hash


def test_facts_can_be_read_page_by_page(story: tuple[Bench, int, list[Any]]) -> None:
    bench, subject, _ = story

    pages = [bench.facts(subject, after_seq=after, limit=3) for after in (0, 3, 6, 9)]

    assert [[fact.seq for fact in page] for page in pages] == [[1, 2, 3], [4, 5, 6], [7], []]


def test_facts_carry_no_payload(story: tuple[Bench, int, list[Any]]) -> None:
    bench, subject, _ = story

    told = " ".join(str(fact.data) for fact in bench.facts(subject))

    assert [secret for secret in ("tube", "jammed", "volume") if secret in told] == []


def test_refusals_are_part_of_the_history(story: tuple[Bench, int, list[Any]]) -> None:
    bench, subject, _ = story
    bench.error(bench.cancel, subject)

    (row,) = bench.history(subject).refusals

    assert (row.refused.code, row.refused.action, row.refused.actor) == (
        "invalid_transition", "cancel_subject_execution", "user:ada",
    )  # fmt: skip


def test_verification_finds_nothing(story: tuple[Bench, int, list[Any]]) -> None:
    bench, subject, _ = story

    one, all_of_it = bench.verify(subject=subject), bench.verify()

    assert (one.first, all_of_it.first) == ({}, {})
    assert (one.subjects, one.facts, one.attempts) == (1, 7, 2)


def test_verification_tells_of_its_progress(story: tuple[Bench, int, list[Any]]) -> None:
    bench, _, _ = story
    told: list[tuple[int, int]] = []

    bench.verify(progress=lambda done, total: told.append((done, total)))

    assert told[-1] == (1, 1)


def test_leases_are_listed_newest_first_and_paged(bench: Bench) -> None:
    bench.define_queue("q")
    for _ in range(5):
        bench.subject()
    leases = [lease.lease for lease in bench.claim(bench.worker(), "q", limit=5, start=True)]

    first = [row.attempt.uid for row in bench.leases(limit=2)]
    rest = [row.attempt.uid for row in bench.leases(limit=9, before=first[-1])]

    assert first + rest == leases[::-1]


def test_leases_are_listed_by_status_queue_and_worker(bench: Bench) -> None:
    for key in ("q", "other"):
        bench.define_queue(key)
        bench.subject(key)
        bench.subject(key)
    one, two = bench.worker("one"), bench.worker("two")
    done = bench.run_it(one)
    bench.complete(done)
    mine, its, elsewhere = bench.run_it(two), bench.run_it(one, "other"), bench.run_it(two, "other")

    def listed(*status: LeaseStatus, **which: Any) -> list[int]:
        return [row.attempt.uid for row in bench.leases(*status, **which)]

    assert listed(LeaseStatus.COMPLETED) == [done.lease]
    assert listed(queue_key="q") == [mine.lease]
    assert listed(worker=one) == [its.lease]
    assert listed(queue_key="other", worker=two) == [elsewhere.lease]


@pytest.mark.parametrize("listed", ["holds", "dead_letters"])
def test_holds_and_dead_letters_are_listed_newest_first_and_paged(bench: Bench, listed: str) -> None:
    bench.define_queue("q")
    worker = bench.worker()
    made = []
    for _ in range(4):
        subject = bench.subject()
        if listed == "holds":
            made.append(bench.hold(subject, reason="broken seal").data["hold"])
        else:
            made.append(bench.fail(bench.run_it(worker), retryable=False).data["dead_letter"])

    def page(**which: Any) -> list[int]:
        return [(row.hold if listed == "holds" else row.letter).uid for row in getattr(bench, listed)(**which)]

    first = page(limit=2)
    assert first + page(before=first[-1]) == made[::-1]


def test_each_fact_names_its_actor_and_correlation(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject(correlation_id="run-1")

    (fact,) = bench.facts(subject)

    assert (fact.actor, fact.correlation_id, fact.at) == ("user:ada", "run-1", bench.now)
