"""Any sequence of actions, with a clock that moves, gives the same answers and the same state on both stores.

The memory store runs the model itself, so this holds the PostgreSQL statements to the model. Hypothesis draws sequences
and shrinks what it finds; seeded walks go deeper. ``TENURE_WALKS`` (how many, from which seed: ``200`` or ``200@1000``)
and ``TENURE_WALK_STEPS`` make the walks longer, ``TENURE_EXAMPLES`` lets Hypothesis draw that many new sequences.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.databases import fresh_database
from tests.store.harness import Bench, bench_on, memory_bench
from tests.store.two_stores import CHOICES, TwoStores

WALKS, _, FIRST_SEED = os.environ.get("TENURE_WALKS", "6").partition("@")
WALK_STEPS = int(os.environ.get("TENURE_WALK_STEPS", "120"))
EXAMPLES = int(os.environ.get("TENURE_EXAMPLES", "0"))

_tenants = itertools.count(1)


@pytest.fixture(scope="module")
def connection(
    pg_server: str, migrated_template: str, admin: psycopg.Connection[Any]
) -> Iterator[psycopg.Connection[Any]]:
    """One database for all runs: each is a tenant of its own."""
    for dsn in fresh_database(admin, pg_server, migrated_template):
        with psycopg.connect(dsn, autocommit=True) as opened:
            yield opened


@pytest.fixture
def machine(connection: psycopg.Connection[Any]) -> type[TwoStores]:
    """The machine, with fresh benches for each run of it."""

    class Machine(TwoStores):
        answers: ClassVar[Counter[str]] = Counter()

        @staticmethod
        def benches() -> tuple[Bench, Bench]:
            tenant = f"t{next(_tenants)}"
            return memory_bench(tenant), bench_on(connection, tenant)

    return Machine


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_random_walks_leave_both_stores_alike(machine: type[TwoStores], tell: Callable[[str], None]) -> None:
    for seed in range(int(FIRST_SEED or 0), int(FIRST_SEED or 0) + int(WALKS)):
        machine().walk(seed, WALK_STEPS)

    answers = machine.answers
    done = {name: answers[name] for name in sorted(CHOICES)}
    done["act_with_a_wrong_token"] = answers["act_with_a_wrong_token: forbidden"]
    tell(f"moves done: {done}")
    tell(f"moves refused: { ({k: n for k, n in sorted(answers.items()) if ':' in k}) }")
    assert [name for name, times in done.items() if not times] == []


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_sequences_that_hypothesis_draws_leave_both_stores_alike(machine: type[TwoStores]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES or 12, stateful_step_count=25, deadline=None, derandomize=not EXAMPLES, database=None,
            suppress_health_check=list(HealthCheck), report_multiple_bugs=False, phases=[Phase.generate, Phase.shrink],
        ),
    )  # fmt: skip
    assert machine.answers["submit"] + machine.answers["claim"] > 0
