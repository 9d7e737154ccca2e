"""The transition table of S1 section 4.3, closed: what is not here is refused.

The same table is held by the database itself (trigger ``law_transition``); a test compares the two.
"""

from __future__ import annotations

from enum import StrEnum

from tenure.model.errors import InvalidTransition
from tenure.model.states import State


class Action(StrEnum):
    """The actions on a subject, by the names of S1 section 7.1."""

    SUBMIT = "submit_subject"
    CLAIM = "claim_queue_item"
    START = "start_execution"
    DISPATCH = "dispatch_external"
    RENEW = "renew_queue_lease"
    RELEASE = "release_queue_lease"
    COMPLETE = "complete_queue_execution"
    FAIL = "fail_queue_execution"
    HOLD = "place_execution_hold"
    RELEASE_HOLD = "release_execution_hold"
    REQUEUE = "requeue_subject"
    CANCEL = "cancel_subject_execution"
    EXPIRE = "expire_queue_lease"
    RESOLVE = "resolve_dead_letter"


P, R, RUN, W, FR, FT, H, CA, CO = (
    State.PENDING, State.READY, State.RUNNING, State.WAITING_EXTERNAL, State.FAILED_RETRYABLE,
    State.FAILED_TERMINAL, State.HELD, State.CANCELED, State.COMPLETED,
)  # fmt: skip
NONTERMINAL = (P, R, RUN, W, FR, H)

# action -> {state before -> states after}. READY -> READY under a live lease is a claim that has not started, or one
# slot of several; RUNNING -> RUNNING is the start of one slot while the others run; HELD -> HELD is a second hold, or
# the release of one of two.
TABLE: dict[Action, dict[State, tuple[State, ...]]] = {
    Action.CLAIM: {R: (R, RUN), FR: (FR, R, RUN)},
    Action.START: {R: (RUN, R), FR: (RUN, R), RUN: (RUN,), W: (RUN,)},
    Action.DISPATCH: {R: (W,), FR: (W,), RUN: (W,)},
    Action.RENEW: {R: (R,), FR: (FR,), RUN: (RUN,), W: (W,)},
    Action.RELEASE: {R: (R,), FR: (FR, R), RUN: (R,), W: (R,)},
    Action.COMPLETE: {RUN: (CO, R, RUN), W: (CO, R), R: (R,)},
    Action.FAIL: {
        RUN: (FR, FT, H, CA, R),
        W: (FR, FT, H, CA, R),
        R: (FT, H, CA, R),
        FR: (FT, H, CA),
        P: (FT,),
        H: (FT,),
    },
    Action.HOLD: dict.fromkeys(NONTERMINAL, (H,)),
    Action.RELEASE_HOLD: {H: (R, FR, H)},
    Action.REQUEUE: {P: (R,), R: (R,), FR: (R,), RUN: (R,), W: (R,), FT: (R,), CA: (R,), CO: (R,)},
    Action.CANCEL: dict.fromkeys(NONTERMINAL, (CA,)),
    Action.EXPIRE: {R: (R, FT), FR: (FR,), RUN: (FR, FT, R), W: (W,)},
    Action.RESOLVE: {FT: (FT,)},
}

#: Every pair (before, after) that some action allows, and no change at all.
LEGAL: frozenset[tuple[State, State]] = frozenset(
    (before, after) for rows in TABLE.values() for before, afters in rows.items() for after in afters
) | frozenset((state, state) for state in State)


def check_transition(action: Action, before: State, after: State) -> None:
    """Refuse what the table does not have with ``InvalidTransition``."""
    if after not in TABLE[action].get(before, ()):
        raise InvalidTransition(
            f"{action} cannot take a subject from {before} to {after}.",
            _ADVICE.get((action, before), f"Look at `why` for this subject; {action} starts from {_starts(action)}."),
            action=str(action),
            state=str(before),
        )


def check_start(action: Action, before: State) -> None:
    """Refuse an action that has no row for the present state."""
    if before not in TABLE[action]:
        check_transition(action, before, before)


def _starts(action: Action) -> str:
    return ", ".join(TABLE[action])


_START_FIRST = "Start the execution first: start_execution, or claim with start=True."
_RELEASE_HOLD = "Release the hold first (release_execution_hold), or cancel the subject."
_ADVICE = {
    (Action.COMPLETE, R): _START_FIRST,
    (Action.COMPLETE, FR): _START_FIRST,
    (Action.FAIL, R): _START_FIRST,
    (Action.FAIL, FR): _START_FIRST,
    (Action.COMPLETE, H): _RELEASE_HOLD,
    (Action.CLAIM, H): _RELEASE_HOLD,
    (Action.REQUEUE, H): _RELEASE_HOLD,
}
