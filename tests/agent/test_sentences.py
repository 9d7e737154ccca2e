"""Whatever words a failure is made of, it is one that the contract takes."""

from __future__ import annotations

import pytest

from tenure.agent import progress
from tenure.agent.execution import Stage
from tenure.agent.scheduler import JobStatus, Phase
from tenure.agent.sentences import failure_with, reason_of, sentence
from tests.agent.making import NOW, execution

ODD = ["", "\0", "a\0b", "x" * 2001, "\udcff" * 600, "\ud800", "ü" * 3000, "line\nline"]


@pytest.mark.parametrize("text", ODD)
def test_a_failure_can_be_built_and_sent_whatever_it_says(text: str) -> None:
    failure = failure_with(code="x", message=text, retryable=False)
    assert failure.model_dump_json().encode()
    assert len(failure.message) <= 2000


def test_what_can_be_told_as_it_is_stays_as_it_is() -> None:
    assert [sentence(text) for text in ("", "a\n b", "ü" * 2000)] == ["", "a\n b", "ü" * 2000]
    assert sentence("a\0b\udcff") == "ab\\udcff"
    assert sentence("x" * 2001) == "x" * 1997 + "..."


@pytest.mark.parametrize("text", ODD)
def test_a_job_ends_whatever_its_scheduler_says_of_that(text: str) -> None:
    running = execution(Stage.RUNNING, job_id="7")
    ended = progress.seen(running, JobStatus("7", "e-1", Phase.FAILED, detail=text), NOW)
    assert ended is not None
    over = progress.collected(progress.brought(ended.execution, NOW).execution, None, NOW, text)  # type: ignore[union-attr]
    assert over is not None
    assert over.events[-1].model_dump_json().encode()


def test_an_error_is_told_in_one_line() -> None:
    assert reason_of(ValueError("a\n  b")) == "ValueError: a b"
    assert reason_of(ValueError()) == "ValueError"
