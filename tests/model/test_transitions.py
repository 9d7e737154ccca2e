"""The transition table, held beside the specification row by row (S1 section 4.3)."""

from __future__ import annotations

import itertools

import pytest

from tenure.model.errors import InvalidTransition
from tenure.model.states import State
from tenure.model.transitions import LEGAL, TABLE, Action, check_start, check_transition

NONTERMINAL = ["PENDING", "READY", "RUNNING", "WAITING_EXTERNAL", "FAILED_RETRYABLE", "HELD"]

#: S1 section 4.3, as printed: state, action, next states.
S1_ROWS = [
    ("PENDING", "requeue_subject", "READY"),  # domain preparation / routing action
    ("READY", "claim_queue_item", "READY"),
    ("READY", "start_execution", "RUNNING"),  # READY + active lease
    ("RUNNING", "complete_queue_execution", "COMPLETED"),  # no next queue
    ("RUNNING", "complete_queue_execution", "READY"),  # next queue assigned
    ("RUNNING", "fail_queue_execution", "FAILED_RETRYABLE"),
    ("FAILED_RETRYABLE", "claim_queue_item", "FAILED_RETRYABLE"),
    ("FAILED_RETRYABLE", "start_execution", "RUNNING"),
    *[(state, "place_execution_hold", "HELD") for state in NONTERMINAL],
    ("HELD", "release_execution_hold", "READY"),
    ("HELD", "release_execution_hold", "FAILED_RETRYABLE"),
    *[(state, "cancel_subject_execution", "CANCELED") for state in NONTERMINAL],
    *[(state, "fail_queue_execution", "FAILED_TERMINAL") for state in NONTERMINAL],
]

#: What the design adds.
DESIGN_ROWS = [
    # A claim may start at once; a shared subject that was to be retried is open again.
    ("READY", "claim_queue_item", "RUNNING"),
    ("FAILED_RETRYABLE", "claim_queue_item", "RUNNING"),
    ("FAILED_RETRYABLE", "claim_queue_item", "READY"),
    # Slots: one of several starts, ends or fails while the subject is open for others, or full of them.
    ("READY", "start_execution", "READY"),
    ("FAILED_RETRYABLE", "start_execution", "READY"),
    ("RUNNING", "start_execution", "RUNNING"),
    ("READY", "complete_queue_execution", "READY"),
    ("RUNNING", "complete_queue_execution", "RUNNING"),
    ("READY", "fail_queue_execution", "READY"),
    ("RUNNING", "fail_queue_execution", "READY"),
    # Outside work (S1 section 7.6).
    *[(state, "dispatch_external", "WAITING_EXTERNAL") for state in ("READY", "FAILED_RETRYABLE", "RUNNING")],
    ("WAITING_EXTERNAL", "start_execution", "RUNNING"),
    ("WAITING_EXTERNAL", "complete_queue_execution", "COMPLETED"),
    ("WAITING_EXTERNAL", "complete_queue_execution", "READY"),
    ("WAITING_EXTERNAL", "fail_queue_execution", "FAILED_RETRYABLE"),
    ("WAITING_EXTERNAL", "fail_queue_execution", "READY"),
    # Error classes with an outcome of their own (S1 section 8.4).
    *[
        (state, "fail_queue_execution", after)
        for state in ("READY", "RUNNING", "WAITING_EXTERNAL", "FAILED_RETRYABLE")
        for after in ("HELD", "CANCELED")
    ],
    # Leases that are renewed, given back or run out.
    *[
        (state, "renew_queue_lease", state)
        for state in ("READY", "FAILED_RETRYABLE", "RUNNING", "WAITING_EXTERNAL")
    ],
    *[
        (state, "release_queue_lease", "READY")
        for state in ("READY", "FAILED_RETRYABLE", "RUNNING", "WAITING_EXTERNAL")
    ],
    ("FAILED_RETRYABLE", "release_queue_lease", "FAILED_RETRYABLE"),
    ("READY", "expire_queue_lease", "READY"),
    ("READY", "expire_queue_lease", "FAILED_TERMINAL"),
    ("FAILED_RETRYABLE", "expire_queue_lease", "FAILED_RETRYABLE"),
    *[("RUNNING", "expire_queue_lease", after) for after in ("FAILED_RETRYABLE", "FAILED_TERMINAL", "READY")],
    ("WAITING_EXTERNAL", "expire_queue_lease", "WAITING_EXTERNAL"),
    # One of two holds is let go.
    ("HELD", "release_execution_hold", "HELD"),
    # Requeue: moving, reconciling (S1 section 8.3), and the explicit one of terminal subjects (S1 section 4.6).
    *[
        (state, "requeue_subject", "READY")
        for state in (
            "READY", "FAILED_RETRYABLE", "RUNNING", "WAITING_EXTERNAL", "FAILED_TERMINAL", "CANCELED", "COMPLETED",
        )
    ],
    ("FAILED_TERMINAL", "resolve_dead_letter", "FAILED_TERMINAL"),
]  # fmt: skip

ROWS = {(State(before), Action(action), State(after)) for before, action, after in S1_ROWS + DESIGN_ROWS}
TABLE_ROWS = {
    (before, action, after) for action, rows in TABLE.items() for before, afters in rows.items() for after in afters
}


def test_every_row_of_the_specification_is_in_the_table() -> None:
    assert set() == ROWS - TABLE_ROWS


def test_the_table_has_no_row_beyond_the_specification() -> None:
    assert set() == TABLE_ROWS - ROWS


@pytest.mark.parametrize("action", [a for a in Action if a is not Action.SUBMIT])
def test_what_is_not_in_the_table_is_refused(action: Action) -> None:
    for before, after in itertools.product(State, State):
        if (before, action, after) in ROWS:
            check_transition(action, before, after)
        else:
            with pytest.raises(InvalidTransition) as refused:
                check_transition(action, before, after)
            assert refused.value.evidence == {"action": str(action), "state": str(before)}


@pytest.mark.parametrize("action", [a for a in Action if a is not Action.SUBMIT])
def test_an_action_starts_from_the_states_that_have_a_row(action: Action) -> None:
    starts = {before for before, a, _ in ROWS if a is action}
    for before in State:
        if before in starts:
            check_start(action, before)
        else:
            with pytest.raises(InvalidTransition):
                check_start(action, before)


def test_held_subjects_allow_release_cancel_and_another_hold_only() -> None:
    # And fail_queue_execution, which S1 4.3 lists for any nonterminal state; no lease can be live then.
    allowed = {action for before, action, _ in TABLE_ROWS if before is State.HELD}
    assert allowed == {Action.RELEASE_HOLD, Action.CANCEL, Action.HOLD, Action.FAIL}


def test_terminal_subjects_allow_requeue_and_resolving_only() -> None:
    allowed = {
        (before, action) for before, action, _ in TABLE_ROWS if before in ("COMPLETED", "CANCELED", "FAILED_TERMINAL")
    }
    assert allowed == {
        (State.COMPLETED, Action.REQUEUE), (State.CANCELED, Action.REQUEUE), (State.FAILED_TERMINAL, Action.REQUEUE),
        (State.FAILED_TERMINAL, Action.RESOLVE),
    }  # fmt: skip


def test_legal_changes_are_those_of_some_row_or_none() -> None:
    assert {(b, a) for b, _, a in ROWS} | {(s, s) for s in State} == LEGAL


@pytest.mark.parametrize(
    ("action", "before", "advice"),
    [
        (Action.COMPLETE, State.READY, "Start the execution first"),
        (Action.FAIL, State.FAILED_RETRYABLE, "Start the execution first"),
        (Action.CLAIM, State.HELD, "Release the hold first"),
        (Action.COMPLETE, State.HELD, "Release the hold first"),
        (Action.CLAIM, State.COMPLETED, "claim_queue_item starts from READY, FAILED_RETRYABLE"),
    ],
)
def test_a_refusal_says_what_to_do_next(action: Action, before: State, advice: str) -> None:
    with pytest.raises(InvalidTransition) as refused:
        check_transition(action, before, State.WAITING_EXTERNAL)
    assert advice in refused.value.hint
