"""Dead letters: what gave up, and what a person does about it."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.model.states import Resolution
from tenure.testing.store_contract.bench import Bench


def dead(bench: Bench, **submission: Any) -> int:
    subject = bench.subject(**submission)
    bench.fail(bench.run_it(bench.worker()), retryable=False, error_code="E7", error_message="the door jammed")
    return subject


def test_dead_letter_tells_what_was_last(bench: Bench) -> None:
    bench.define_queue("q")
    subject = dead(bench, name="tube 7")

    (row,) = bench.dead_letters()

    assert (row.letter.subject, row.name, row.error_code, row.error_message) == (
        subject,
        "tube 7",
        "E7",
        "the door jammed",
    )
    assert row.letter.attempt == bench.last_attempt(subject).uid


def test_own_limit_of_attempts_goes_before_the_queues(bench: Bench) -> None:
    bench.define_queue("q", max_attempts_default=5)
    subject = bench.subject(max_attempts=1)

    bench.fail(bench.run_it(bench.worker()), retryable=True)

    assert bench.state(subject) == "FAILED_TERMINAL"


@pytest.mark.parametrize("resolution", [Resolution.IGNORED, Resolution.CANCELED])
def test_dead_letter_is_resolved_without_running_the_subject(bench: Bench, resolution: Resolution) -> None:
    bench.define_queue("q")
    subject = dead(bench)

    bench.resolve_dead_letter(subject, reason="known cause", resolution=resolution)

    (row,) = bench.dead_letters(open_only=False)
    assert (row.letter.resolution_state, row.letter.resolved_by) == (resolution, "user:ada")
    assert (bench.state(subject), bench.dead_letters()) == ("FAILED_TERMINAL", [])


def test_dead_letter_cannot_be_resolved_as_requeued(bench: Bench) -> None:
    bench.define_queue("q")
    subject = dead(bench)

    refused = bench.error(bench.resolve_dead_letter, subject, reason="x", resolution=Resolution.REQUEUED)

    assert refused.code == "invalid_request"


def test_reopening_a_dead_subject_resolves_its_letter_and_counts_anew(bench: Bench) -> None:
    bench.define_queue("q")
    subject = dead(bench)

    bench.requeue(subject, reopen=True, reason="repaired")

    (row,) = bench.dead_letters(open_only=False)
    assert row.letter.resolution_state is Resolution.REQUEUED
    assert (bench.envelope(subject).attempt_count, bench.visible()) == (0, [subject])


def test_dead_letter_is_never_replayed_by_itself(bench: Bench) -> None:
    bench.define_queue("q")
    dead(bench)
    bench.later(86400 * 365)

    assert bench.claim(bench.worker("other"), "q") == []


def test_subject_that_dies_again_gets_another_letter(bench: Bench) -> None:
    bench.define_queue("q")
    subject = dead(bench)
    bench.requeue(subject, reopen=True)
    bench.fail(bench.run_it(bench.worker()), retryable=False)

    assert len(bench.dead_letters(open_only=False)) == 2
    assert len(bench.dead_letters()) == 1
