"""How often the scheduler is asked."""

from __future__ import annotations

from tenure.agent.execution import Stage
from tenure.agent.interval import seconds_to_next_look
from tenure.agent.settings import WatchSettings
from tests.agent.making import NOW, execution

SETTINGS = WatchSettings(fastest_seconds=2, slowest_seconds=60)


def wait(*stood: tuple[Stage, float], **more: float) -> float | None:
    jobs = [execution(stage, stage_at=NOW - seconds, **more) for stage, seconds in stood]
    return seconds_to_next_look(jobs, NOW, SETTINGS)


def test_without_jobs_nobody_is_asked() -> None:
    assert wait() is None


def test_what_is_young_is_asked_after_often_and_what_is_old_seldom() -> None:
    assert wait((Stage.SUBMITTED, 0)) == 2
    assert wait((Stage.RUNNING, 300)) == 30
    assert wait((Stage.SUBMITTED, 100_000)) == 60


def test_the_youngest_decides_for_all() -> None:
    assert wait((Stage.RUNNING, 3000), (Stage.RUNNING, 2000), (Stage.SUBMITTED, 1)) == 2


def test_what_comes_to_the_end_of_its_time_is_asked_after_in_time() -> None:
    assert wait((Stage.RUNNING, 3590)) == 10
    assert wait((Stage.RUNNING, 3599)) == 2


def test_what_is_being_cancelled_is_asked_after_often() -> None:
    assert wait((Stage.RUNNING, 3000), cancel_at=NOW - 1) == 2


def test_a_clock_that_was_set_back_makes_nobody_wait_longer() -> None:
    assert wait((Stage.RUNNING, -5000)) == 2


def test_after_a_ring_it_is_asked_again_and_again_in_doubled_times_until_it_would_be_asked_anyway() -> None:
    old = [execution(Stage.RUNNING, stage_at=NOW - 300)]
    asked = [0.0]
    while (wait := seconds_to_next_look(old, NOW, SETTINGS, NOW - asked[-1])) != 30:
        assert wait is not None
        asked.append(asked[-1] + wait)
    assert asked == [0, 2, 4, 8, 16, 32]
    assert seconds_to_next_look([execution(Stage.RUNNING, stage_at=NOW)], NOW, SETTINGS, NOW - 100) == 2
    assert seconds_to_next_look([], NOW, SETTINGS, NOW) is None
