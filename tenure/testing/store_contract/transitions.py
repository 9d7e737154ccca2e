"""S1 section 4.3 cell by cell: what each action makes of a subject in each state, or how it is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tenure.model.errors import TenureError
from tenure.testing.store_contract.bench import Bench
from tenure.testing.store_contract.dump import state_of


@dataclass
class Scene:
    """A subject in one state, the lease that it has or last had, and somebody who may claim it."""

    bench: Bench
    subject: int
    lease: object
    other: object


def pending(bench: Bench) -> tuple[int, object]:
    subject = bench.subject(ready=False)
    return subject, None


def ready(bench: Bench) -> tuple[int, object]:
    return bench.subject(), None


def ready_under_lease(bench: Bench) -> tuple[int, object]:
    subject = bench.subject()
    return subject, bench.take(bench.worker())


def running(bench: Bench) -> tuple[int, object]:
    subject = bench.subject()
    return subject, bench.run_it(bench.worker())


def waiting_external(bench: Bench) -> tuple[int, object]:
    subject, lease = running(bench)
    bench.dispatch_external(lease)
    return subject, lease


def failed_retryable(bench: Bench) -> tuple[int, object]:
    subject, lease = running(bench)
    bench.fail(lease, retryable=True, retry_after_seconds=0)
    return subject, lease


def failed_retryable_under_lease(bench: Bench) -> tuple[int, object]:
    subject, _ = failed_retryable(bench)
    return subject, bench.take(bench.worker("again"))


def failed_terminal(bench: Bench) -> tuple[int, object]:
    subject, lease = running(bench)
    bench.fail(lease, retryable=False)
    return subject, lease


def held(bench: Bench) -> tuple[int, object]:
    subject, lease = running(bench)
    bench.hold(subject, reason="broken seal")
    return subject, lease


def canceled(bench: Bench) -> tuple[int, object]:
    subject, lease = running(bench)
    bench.cancel(subject)
    return subject, lease


def completed(bench: Bench) -> tuple[int, object]:
    subject, lease = running(bench)
    bench.complete(lease, idempotency_key="done")
    return subject, lease


ACTIONS: dict[str, Callable[[Scene], object]] = {
    "claim": lambda s: s.bench.claim(s.other, "q", subject=s.subject),
    "start": lambda s: s.bench.start(s.lease),
    "dispatch": lambda s: s.bench.dispatch_external(s.lease, idempotency_key="again"),
    "renew": lambda s: s.bench.renew(s.lease),
    "release": lambda s: s.bench.release_lease(s.lease),
    "defer": lambda s: s.bench.defer(s.lease, until=s.bench.in_seconds(9)),
    "complete": lambda s: s.bench.complete(s.lease),
    "complete and send on": lambda s: s.bench.complete(s.lease, next_queue_key="next"),
    "fail for a while": lambda s: s.bench.fail(s.lease, retryable=True, idempotency_key="again"),
    "fail for good": lambda s: s.bench.fail(s.lease, retryable=False, idempotency_key="again"),
    "fail by a business rule": lambda s: s.bench.fail(
        s.lease, error_class="BUSINESS_RULE_HOLD", idempotency_key="again"
    ),
    "fail as canceled": lambda s: s.bench.fail(s.lease, error_class="OPERATOR_CANCELED", idempotency_key="again"),
    "hold": lambda s: s.bench.hold(s.subject, reason="look at it"),
    "release hold": lambda s: s.bench.release_hold(s.subject),
    "requeue": lambda s: s.bench.requeue(s.subject),
    "reopen": lambda s: s.bench.requeue(s.subject, reopen=True),
    "cancel": lambda s: s.bench.cancel(s.subject),
    "force expiry": lambda s: s.bench.expire_lease(s.lease.lease, force=True),  # type: ignore[attr-defined]
    "resolve": lambda s: s.bench.resolve_dead_letter(s.subject, reason="known"),
}

#: For each state, what each action leads to, or how it is refused.
UNDER_NO_LEASE = {
    "start": None, "dispatch": None, "renew": None, "release": None, "defer": None, "complete": None,
    "complete and send on": None, "fail for a while": None, "fail for good": None, "fail by a business rule": None,
    "fail as canceled": None, "force expiry": None,
}  # fmt: skip
UNDER_ENDED_LEASE = dict.fromkeys(UNDER_NO_LEASE, "stale_lease")
UNDER_UNSTARTED_LEASE = {
    "start": "RUNNING", "dispatch": "WAITING_EXTERNAL", "defer": "READY", "complete": "invalid_transition",
    "complete and send on": "invalid_transition", "fail for a while": "invalid_transition", "fail for good": "FAILED_TERMINAL",
    "fail by a business rule": "HELD", "fail as canceled": "CANCELED",
}  # fmt: skip
UNDER_STARTED_LEASE = {
    "release": "READY", "defer": "READY", "complete": "COMPLETED", "complete and send on": "READY",
    "fail for a while": "FAILED_RETRYABLE", "fail for good": "FAILED_TERMINAL", "fail by a business rule": "HELD",
    "fail as canceled": "CANCELED",
}  # fmt: skip
NONTERMINAL = {
    "claim": "not_claimable", "hold": "HELD", "release hold": "invalid_transition", "requeue": "READY", "reopen": "READY",
    "cancel": "CANCELED", "resolve": "conflict",
}  # fmt: skip
TERMINAL = {
    "claim": "not_claimable", "hold": "invalid_transition", "release hold": "invalid_transition",
    "requeue": "invalid_transition", "reopen": "READY", "cancel": "invalid_transition", "resolve": "conflict",
}  # fmt: skip
OUTCOMES: dict[Callable[[Bench], tuple[int, object]], dict[str, str | None]] = {
    pending: NONTERMINAL | UNDER_NO_LEASE,
    ready: NONTERMINAL | UNDER_NO_LEASE | {"claim": "READY"},
    ready_under_lease: NONTERMINAL
    | UNDER_UNSTARTED_LEASE
    | {"renew": "READY", "release": "READY", "force expiry": "READY"},
    running: NONTERMINAL
    | UNDER_STARTED_LEASE
    | {
        "start": "invalid_transition",
        "dispatch": "WAITING_EXTERNAL",
        "renew": "RUNNING",
        "force expiry": "FAILED_RETRYABLE",
    },
    waiting_external: NONTERMINAL
    | UNDER_STARTED_LEASE
    | {
        "start": "RUNNING",
        "dispatch": "invalid_transition",
        "renew": "WAITING_EXTERNAL",
        "force expiry": "WAITING_EXTERNAL",
    },
    failed_retryable: NONTERMINAL | UNDER_ENDED_LEASE | {"claim": "FAILED_RETRYABLE"},
    failed_retryable_under_lease: NONTERMINAL
    | UNDER_UNSTARTED_LEASE
    | {"renew": "FAILED_RETRYABLE", "release": "FAILED_RETRYABLE", "force expiry": "FAILED_RETRYABLE"},
    failed_terminal: TERMINAL | UNDER_ENDED_LEASE | {"resolve": "FAILED_TERMINAL"},
    held: NONTERMINAL
    | UNDER_ENDED_LEASE
    | {"release hold": "READY", "requeue": "invalid_transition", "reopen": "invalid_transition"},
    canceled: TERMINAL | UNDER_ENDED_LEASE,
    completed: TERMINAL | UNDER_ENDED_LEASE,
}
CELLS = [
    pytest.param(state, action, row[action], id=f"{action}: {state.__name__}")
    for state, row in OUTCOMES.items()
    for action in ACTIONS
    if row[action] is not None
]


@pytest.mark.parametrize("arrange, action, outcome", CELLS)
def test_each_action_in_each_state_does_what_the_table_says(
    bench: Bench, arrange: Callable[[Bench], tuple[int, object]], action: str, outcome: str
) -> None:
    bench.define_queue("q")
    bench.define_queue("next")
    subject, lease = arrange(bench)
    scene = Scene(bench, subject, lease, bench.worker("other"))
    before = state_of(bench)

    try:
        ACTIONS[action](scene)
    except TenureError as refused:
        assert (refused.code, state_of(bench)) == (outcome, before)
    else:
        assert bench.state(subject) == outcome


def test_all_nine_states_are_in_the_table(bench: Bench) -> None:
    bench.define_queue("q")

    reached = set()
    for arrange in OUTCOMES:
        subject, _ = arrange(bench)
        reached.add(bench.state(subject))
        if not bench.envelope(subject).terminal:
            bench.cancel(subject)

    assert len(reached) == 9
