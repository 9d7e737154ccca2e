"""Whatever events come, doubled and out of order, among polls, cancellations, holds and requeues: nothing is ever wrong.

Each sequence is done to the memory store and to PostgreSQL; their answers and all that they keep must be the same, what was
told must keep S5's rules as they are written again here, and verify must find nothing.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tenure.remote.memory import remote_beside
from tenure.remote.postgres import remote_on
from tests.remote.border import STATES
from tests.remote.worlds import Step, World
from tests.store.harness import bench_on, memory_bench

EXAMPLES = int(os.environ.get("TENURE_EXAMPLES", "0"))
"""More, and others each time, for whoever has the time."""
_tenants = itertools.count(1)
RANK = {"queued": 0, "running": 1, "succeeded": 2, "failed": 2}
MAY_FOLLOW = {None: {"accepted"}, "accepted": {"running", "failed"}, "running": {"completed", "failed"}}

_submission = st.integers(0, 2)
_event = st.fixed_dictionaries({
    "submission": _submission, "execution": st.integers(1, 2), "state": st.sampled_from(STATES),
    "key": st.sampled_from(["a", "b", *(f"{state}-true" for state in STATES)]), "slurm": st.sampled_from(["1", "1", "2"]),
    "retryable": st.booleans(),
})  # fmt: skip
_onward = st.tuples(st.just("onward"), _submission, st.sampled_from([True, True, True, False]), st.booleans())
_poll = st.tuples(st.just("poll"), st.integers(0, 3), st.booleans(), st.sampled_from(["a", "a", "a", "b"]))
_step: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("submit")), _poll, _onward, _onward, _onward,
    st.lists(_event, min_size=1, max_size=4).map(lambda events: ("events", *events)),
    st.tuples(st.just("later"), st.sampled_from([1, 31, 61, 100])), st.tuples(st.just("sweep")),
    st.tuples(st.sampled_from(["cancel", "hold", "release", "requeue", "requeue"]), _submission),
)  # fmt: skip
_steps = st.lists(_step, min_size=18, max_size=40).map(
    lambda steps: [("submit",), ("submit",), ("poll", 2, False), ("onward", 0, True, True), *steps]
)


@pytest.fixture(scope="module")
def connection(border_database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(border_database, autocommit=True) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_no_sequence_of_events_leaves_a_wrong_state(
    connection: psycopg.Connection[Any], tell: Callable[[str], None]
) -> None:
    answers: Counter[str] = Counter()

    @settings(
        max_examples=EXAMPLES or 15, deadline=None, derandomize=not EXAMPLES, database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink] if EXAMPLES else [Phase.generate]
    )  # fmt: skip
    @given(_steps)
    def run(steps: list[Step]) -> None:
        tenant = f"sequence-{next(_tenants)}"
        memory_store = memory_bench(tenant)
        memory = World(memory_store, remote_beside(memory_store.store))  # type: ignore[arg-type]
        bench = bench_on(connection, tenant)
        postgres = World(bench, remote_on(bench.store))  # type: ignore[arg-type]
        for step in steps:
            one, other = memory.do(step), postgres.do(step)
            assert one == other, step
            if step[0] == "poll":
                answers[one if isinstance(one, str) else "poll answered"] += 1
            if step[0] in ("events", "onward") and isinstance(one, list):
                answers.update(str(each[0]) if isinstance(each, tuple) else each for each in one)
        assert memory.snapshot() == postgres.snapshot()
        for world in (memory, postgres):
            assert world.bench.verify().found == {}
            for submission_id in world.ids:
                _check(world, submission_id)

    run()
    tell(f"events: {dict(answers)}")
    assert {"applied", "kept", "duplicate", "invalid_transition"} <= answers.keys()


def _check(world: World, submission_id: str) -> None:
    """S5's rules, looked at in what was told."""
    states: dict[int, str | None] = {}
    ids: set[str] = set()
    slurm: dict[int, str] = {}
    round_, rank = 1, -1
    for fact in world.facts(submission_id):
        data = dict(fact.data or {})
        if fact.type == "execution_event.received":
            number, state = data["number"], data["state"]
            assert state in MAY_FOLLOW[states.get(number)]
            assert data["event_id"] not in ids
            assert data["scheduler_ref"]["slurm_job_id"] == slurm.setdefault(
                number, data["scheduler_ref"]["slurm_job_id"]
            )
            states[number] = state
            ids.add(data["event_id"])
        elif fact.type == "projection.updated":
            if data["projection_round"] != round_:
                assert (data["projection_round"], rank) == (round_ + 1, 2)
                round_, rank = data["projection_round"], -1
            assert RANK[data["projection_state"]] >= rank
            assert rank < 2, "nothing follows the end of a round"
            rank = RANK[data["projection_state"]]
    live = [number for number, state in states.items() if state in ("accepted", "running")]
    shown = world.snapshot()[world.ids.index(submission_id)]
    wanted = [number for number, state, _, still, _ in shown[7] if still and number in live]
    assert len(wanted) <= 1, "two executions of one submission are wanted at once"
    assert (shown[0] in ("RUNNING", "WAITING_EXTERNAL")) == (len(wanted) == 1)
