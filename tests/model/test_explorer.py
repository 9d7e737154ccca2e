"""No interleaving of two workers, an operator and the clock breaks an invariant; and the explorer would see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tenure.model import fact_types as ft
from tenure.model.decisions.unfolding import Context, Unfolding
from tenure.model.fact import Draft
from tenure.model.states import HoldState, State
from tenure.model.transitions import TABLE, Action
from tests.model import explorer
from tests.model.explorer import BrokenInvariant, Explorer

READY, RUNNING, RETRY = State.READY, State.RUNNING, State.FAILED_RETRYABLE

#: Rows of the table that need what two workers and one queue do not have, or that S1 lists for states without a lease.
NOT_REACHED = {
    (Action.FAIL, State.PENDING, State.FAILED_TERMINAL),
    (Action.FAIL, State.HELD, State.FAILED_TERMINAL),
    # A shared subject is never FAILED_RETRYABLE and never waits outside.
    (Action.CLAIM, RETRY, READY), (Action.START, RETRY, READY),
    (Action.FAIL, State.WAITING_EXTERNAL, READY),
}  # fmt: skip


@pytest.fixture(scope="module")
def walks() -> dict[str, Explorer]:
    """Every world that can be reached, of one subject with one slot or two, and of two subjects."""
    found = {
        "single": Explorer(slots=1, ready=False),
        "shared": Explorer(slots=2),
        "two": Explorer(slots=1, subjects=2),
    }
    for walk in found.values():
        walk.run()
    return found


def test_no_interleaving_breaks_an_invariant(walks: dict[str, Explorer], tell: Callable[[str], None]) -> None:
    for walk in walks.values():
        tell(f"explored {walk}")
    # The walks raise at the first broken one; here it is made sure that they went somewhere.
    assert walks["single"].worlds > 200
    assert walks["shared"].worlds > 1_000
    assert walks["two"].worlds > 40_000


def test_every_state_is_reached_and_every_action_refused_sometimes(walks: dict[str, Explorer]) -> None:
    reached = {standing.thread.envelope.state for standing in walks["single"].standings.values()}
    assert reached == set(State)
    assert walks["single"].refused > 1_000


def test_every_row_of_the_transition_table_is_used(walks: dict[str, Explorer]) -> None:
    table = {(action, before, after) for action, rows in TABLE.items() for before in rows for after in rows[before]}
    used = walks["single"].rows | walks["shared"].rows
    assert table - used == NOT_REACHED


@pytest.mark.parametrize("slots", [1, 2])
def test_threads_with_the_same_key_have_the_same_future(slots: int, walks: dict[str, Explorer]) -> None:
    # Walked in another order, other threads stand for the keys. Were the key too coarse, their steps would differ.
    broad = walks["single" if slots == 1 else "shared"]
    deep = Explorer(slots=slots, ready=broad.ready, deep=True).run()
    threads = sum(broad.standings[k].thread != s.thread for k, s in deep.standings.items() if k in broad.standings)
    assert threads > len(broad.standings) / 2
    assert {key: set(steps) for key, steps in deep.steps.items()} == {
        key: set(steps) for key, steps in broad.steps.items()
    }


# The explorer sees what is broken ---------------------------------------------------------------------------------
def found(monkeypatch: pytest.MonkeyPatch, name: str, broken: Callable[..., Any], **walk: Any) -> BrokenInvariant:
    monkeypatch.setattr(explorer, name, broken)
    with pytest.raises(BrokenInvariant) as caught:
        Explorer(**walk).run()
    return caught.value


def test_it_finds_an_expired_owner_who_completes(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = explorer.decide_complete

    def with_a_late_clock(unfolding: Unfolding, request: Any, context: Context, token: bytes) -> Any:
        return sound(unfolding, request, replace(context, now=context.now - timedelta(hours=1)), token)

    error = found(monkeypatch, "decide_complete", with_a_late_clock)
    assert "without a live lease" in error.what
    assert (len(error.path), error.path[-1]) == (3, "time passes")


def test_it_finds_a_second_hold_that_the_release_of_the_first_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    def release_all_states(unfolding: Unfolding, request: Any, context: Context) -> Any:
        env = unfolding.envelope
        data = {"hold": request.hold, "set": {"hold_state": str(HoldState.NONE), "hold_reason": None}}
        draft = Draft(
            type=ft.HOLD_RELEASED, state=READY, revision=env.revision + 1, queue_key=env.next_queue_key, data=data
        )
        return unfolding.append(draft, context)

    error = found(monkeypatch, "decide_release_hold", release_all_states)
    assert error.what == "READY, hold state NONE, 1 active holds"
    assert error.path == ["the operator holds", "the operator holds", "the operator releases hold 1"]


def test_it_finds_a_hold_that_leaves_a_lease_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = explorer.decide_hold

    def forgetful(unfolding: Unfolding, request: Any, context: Context) -> Any:
        unfolding.thread = replace(unfolding.thread, attempts={})
        return sound(unfolding, request, context)

    assert found(monkeypatch, "decide_hold", forgetful).path == ["A claims", "the operator holds"]


def test_it_finds_a_lapsed_slot_that_leaves_its_subject_running(monkeypatch: pytest.MonkeyPatch) -> None:
    def leaves_it_running(unfolding: Unfolding, attempt: Any, context: Context, reason: str | None = None) -> Any:
        env = unfolding.envelope
        draft = Draft(
            type=ft.EXPIRED, state=env.state, revision=env.revision, queue_key=env.next_queue_key, lease=attempt.uid
        )
        return unfolding.append(draft, context)

    error = found(monkeypatch, "decide_expire", leaves_it_running, slots=2)
    assert "which the table does not have" in error.what or "although a slot is free" in error.what


def test_it_finds_a_failure_that_never_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = explorer.decide_fail

    def patient(unfolding: Unfolding, request: Any, context: Context, token: bytes) -> Any:
        lenient = {k: q.model_copy(update={"max_attempts_default": 99}) for k, q in context.queues.items()}
        return sound(unfolding, request, replace(context, queues=lenient), token)

    assert "although 2 of 2 attempts were spent" in found(monkeypatch, "decide_fail", patient).what


def test_it_finds_a_revision_that_does_not_tell_of_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(unfolding: Unfolding, request: Any, context: Context) -> Any:
        env = unfolding.envelope
        draft = Draft(type=ft.CANCELED, state=State.CANCELED, revision=env.revision, queue_key=env.next_queue_key,
                      data={"set": {"cancel_requested": True}})  # fmt: skip
        return unfolding.append(draft, context)

    assert "to CANCELED at 1" in found(monkeypatch, "decide_cancel", silent).what


def test_it_finds_a_refusal_that_changed_something(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = explorer.decide_cancel

    def acts_first(unfolding: Unfolding, request: Any, context: Context) -> Any:
        sound(unfolding, request, context)
        return sound(unfolding, request, context)

    assert (
        found(monkeypatch, "decide_cancel", acts_first).what == "the operator cancels was refused and changed something"
    )
