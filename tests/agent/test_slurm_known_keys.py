"""What is remembered of jobs' keys is bounded, and what an agent asks after is not forgotten."""

from __future__ import annotations

from tenure.agent.slurm.known_keys import KnownKeys


def test_an_agent_that_runs_for_years_remembers_only_the_last_jobs():
    keys = KnownKeys(most=100)
    for number in range(100_000):
        keys.learn({str(number): f"key-{number}"})
    assert len(keys) == 100
    assert (keys.of("99999"), keys.of("99900"), keys.of("99899")) == ("key-99999", "key-99900", None)


def test_a_long_job_that_is_asked_after_is_remembered_among_thousands_of_short_ones():
    keys = KnownKeys(most=100)
    keys.learn({"1": "long"})
    for number in range(2, 10_000):
        keys.learn({str(number): "short"})
        assert keys.of("1") == "long"


def test_a_number_given_a_second_time_is_the_new_jobs():
    keys = KnownKeys(most=2)
    keys.learn({"1": "old", "2": "other"})
    keys.learn({"1": "new"})
    keys.learn({"3": "another"})
    assert (keys.of("1"), keys.of("2"), keys.of("3")) == ("new", None, "another")
