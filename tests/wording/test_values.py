"""Evidence and times as people read them."""

from __future__ import annotations

import pytest

from tenure.wording.values import listed, refusal_code, to_the_second


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([{"worker_key": "north", "host": "n1"}, {"worker_key": "south"}], "north, south"),
        ([{"lease": "LX-1", "worker": "WX-2"}, {"lease": "LX-3"}], "lease LX-1, worker WX-2; lease LX-3"),
        (["READY", "HELD"], "READY, HELD"),
        ({"total": 4, "not_ok": 1}, "total 4, not ok 1"),
        ({"nested": {"a": 1}}, '{"nested": {"a": 1}}'),
        ([], "–"),
        (None, "–"),
        ("a\x1b[2J", "a\\x1b[2J"),
    ],
)
def test_evidence_is_words(value: object, words: str) -> None:
    assert listed(value) == words


def test_a_time_within_a_sentence_is_told_to_the_second_in_utc() -> None:
    told = "It is held until 2026-11-28T10:32:30.929690+00:00. Not 2026-11-28T10:32."
    assert to_the_second(told) == "It is held until 2026-11-28 10:32:30Z. Not 2026-11-28T10:32."


def test_the_code_of_a_refusal_is_told_as_it_is_and_that_of_an_answer_from_before_is_not_called_one() -> None:
    assert [refusal_code(code) for code in ("lease_expired", "idempotent_replay")] == ["lease_expired", "repeated"]
