"""expected_state, expected_revision and expected_seq; and set forms, where each request has an answer of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tenure.engine.actions import cancel, complete, fail, hold, release, renew, requeue, start
from tenure.model.errors import TenureError
from tenure.model.requests import (
    CancelSubject,
    CompleteExecution,
    FailExecution,
    PlaceHold,
    ReleaseLease,
    RenewLease,
    RequeueSubject,
    StartExecution,
    SubmitSubject,
)
from tenure.model.result import ActionResult
from tenure.sdk.token import Token
from tenure.testing.store_contract.bench import Bench
from tenure.testing.store_contract.dump import state_of

SECRET = Token("secret")
ACTS: dict[str, Callable[[Bench, int, Any, dict[str, Any]], Any]] = {
    "start": lambda b, s, lease, guard: b.start(lease, **guard),
    "renew": lambda b, s, lease, guard: b.renew(lease, **guard),
    "release": lambda b, s, lease, guard: b.release_lease(lease, **guard),
    "complete": lambda b, s, lease, guard: b.complete(lease, **guard),
    "fail": lambda b, s, lease, guard: b.fail(lease, **guard),
    "defer": lambda b, s, lease, guard: b.defer(lease, until=b.in_seconds(9), **guard),
    "dispatch": lambda b, s, lease, guard: b.dispatch_external(lease, **guard),
    "hold": lambda b, s, lease, guard: b.hold(s, reason="look at it", **guard),
    "release hold": lambda b, s, lease, guard: b.release_hold(s, **guard),
    "requeue": lambda b, s, lease, guard: b.requeue(s, **guard),
    "cancel": lambda b, s, lease, guard: b.cancel(s, **guard),
    "resolve": lambda b, s, lease, guard: b.resolve_dead_letter(s, reason="known", **guard),
    "expire": lambda b, s, lease, guard: b.expire_lease(lease.lease, force=True, **guard),
}
GUARDS = [
    ("expected_state", "CANCELED", "state_conflict", "READY"),
    ("expected_revision", 7, "revision_conflict", 1),
    ("expected_seq", 9, "seq_conflict", 2),
]


@pytest.mark.parametrize("action", ACTS)
@pytest.mark.parametrize("guard, expected, code, actual", GUARDS)
def test_guard_that_does_not_hold_is_a_conflict_that_names_both_values(
    bench: Bench, action: str, guard: str, expected: Any, code: str, actual: Any
) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    lease = bench.take(bench.worker())
    before = state_of(bench)

    refused = bench.error(ACTS[action], bench, subject, lease, {guard: expected})

    assert (refused.code, refused.evidence) == (code, {"expected": expected, "actual": actual})
    assert state_of(bench) == before


@pytest.mark.parametrize("guard, expected, code", [
    ("expected_state", "FAILED_RETRYABLE", "state_conflict"), ("expected_revision", 7, "revision_conflict"),
])  # fmt: skip
def test_claim_of_one_subject_minds_its_guards(bench: Bench, guard: str, expected: Any, code: str) -> None:
    bench.define_queue("q")
    worker, subject = bench.worker(), bench.subject()
    before = state_of(bench)

    refused = bench.error(bench.claim, worker, "q", subject=subject, **{guard: expected})

    assert (refused.code, refused.evidence["expected"]) == (code, expected)
    assert state_of(bench) == before


def test_guards_that_hold_let_the_action_pass(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    env = bench.envelope(subject)

    bench.cancel(subject, expected_state=env.state, expected_revision=env.revision, expected_seq=env.seq)

    assert bench.state(subject) == "CANCELED"


def test_revision_grows_with_each_change_of_state(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    revisions = [bench.envelope(subject).revision]
    held = bench.take(bench.worker())
    for act in (bench.start, bench.renew, bench.complete):
        act(held)
        revisions.append(bench.envelope(subject).revision)

    assert revisions == [1, 2, 2, 3]


def test_revision_guard_of_a_policy_names_both_values(bench: Bench) -> None:
    bench.define_queue("q")
    before = state_of(bench)

    refused = bench.error(bench.update_queue_policy, "q", expected_revision=3, enabled=False)

    assert (refused.code, refused.evidence) == ("revision_conflict", {"expected": 3, "actual": 1})
    assert state_of(bench) == before


# Set forms ------------------------------------------------------------------------------------------------------------
def answers(outcomes: list[ActionResult | TenureError]) -> list[str]:
    return [o.code if isinstance(o, TenureError) else str(o.state) for o in outcomes]


def test_set_of_submissions_answers_each(bench: Bench) -> None:
    bench.define_queue("q")
    bench.define_queue("specimens", subject_template_codes=("content/specimen/1.0",))
    bench.define_template("strict/1.0", {"type": "object", "required": ["volume"]})

    outcomes = bench.submit_many(
        [
            SubmitSubject(queue_key="q", name="good"),
            SubmitSubject(queue_key="nowhere"),
            SubmitSubject(queue_key="specimens"),
            SubmitSubject(queue_key="q", template="unknown/1.0"),
            SubmitSubject(template="strict/1.0", ready=False),
            SubmitSubject(queue_key="q", name="good too"),
        ]
    )

    assert answers(outcomes) == [
        "READY", "queue_unknown", "template_not_served", "not_found", "invalid_payload", "READY",
    ]  # fmt: skip
    assert [item.name for item in bench.queue_items("q")] == ["good", "good too"]


def test_set_of_submissions_to_many_queues_keeps_its_order(bench: Bench) -> None:
    for key in ("b", "a"):
        bench.define_queue(key, subject_template_codes=("z/1.0", "y/1.0"))
    plan = [("b", "z/1.0"), ("a", "y/1.0"), ("b", "y/1.0"), ("a", "z/1.0"), ("b", "z/1.0"), ("a", "y/1.0")]

    made = [r.subject for r in bench.submit_many([SubmitSubject(queue_key=q, template=t) for q, t in plan])]

    assert made == sorted(made)
    assert (bench.visible("b"), bench.visible("a")) == (made[0::2], made[1::2])


def leased(bench: Bench, count: int, *, start: bool = True) -> list[Any]:
    for _ in range(count):
        bench.subject()
    return bench.claim(bench.worker(), "q", limit=count, start=start, token=SECRET)


@pytest.mark.parametrize(
    "act_many, request_type, good, more",
    [
        (start.start_many, StartExecution, "RUNNING", {}),
        (renew.renew_many, RenewLease, "READY", {}),
        (release.release_many, ReleaseLease, "READY", {}),
        (fail.fail_many, FailExecution, "FAILED_TERMINAL", {"error_class": "PERMANENT_INPUT"}),
    ],
)
def test_set_of_lease_actions_answers_each(
    bench: Bench, act_many: Any, request_type: Any, good: str, more: dict[str, Any]
) -> None:
    bench.define_queue("q")
    one, two, three = leased(bench, 3, start=False)
    bench.hold(two.subject, reason="broken seal")

    def asked(lease: Any, token: Token = SECRET) -> Any:
        return request_type(lease=lease.lease, worker=lease.item.worker, token_hash=token.digest, **more)

    unknown = request_type(lease=one.subject, worker=one.item.worker, token_hash=SECRET.digest, **more)
    outcomes = bench.many(act_many, [asked(one), asked(two), asked(three, Token("guess")), unknown])

    assert answers(outcomes) == [good, "stale_lease", "forbidden", "not_found"]


@pytest.mark.parametrize("plain", [True, False], ids=["plain", "with next queue"])
def test_set_of_completions_answers_each(bench: Bench, plain: bool) -> None:
    bench.define_queue("q")
    bench.define_queue("next")
    leases = leased(bench, 4)
    bench.hold(leases[1].subject, reason="broken seal")
    more = {} if plain else {"next_queue_key": "next"}

    def asked(lease: Any, token: Token = SECRET, **fields: Any) -> CompleteExecution:
        return CompleteExecution(
            lease=lease.lease, worker=lease.item.worker, token_hash=token.digest, **({"result": 1} | more | fields)
        )

    outcomes = bench.many(
        complete.complete_many,
        [asked(leases[0]), asked(leases[1]), asked(leases[2], Token("guess")), asked(leases[3]), asked(leases[0]),
         asked(leases[3], result=2)],
    )  # fmt: skip

    good = "COMPLETED" if plain else "READY"
    assert answers(outcomes) == [good, "stale_lease", "forbidden", good, good, "idempotency_conflict"]
    assert [getattr(o, "replayed", None) for o in outcomes] == [False, None, None, False, True, None]


@pytest.mark.parametrize(
    "act_many, make, good",
    [
        (hold.hold_many, lambda uid: PlaceHold(subject=uid, reason="broken seal"), "HELD"),
        (cancel.cancel_many, lambda uid: CancelSubject(subject=uid), "CANCELED"),
        (requeue.requeue_many, lambda uid: RequeueSubject(subject=uid), "READY"),
    ],
)
def test_set_of_operator_actions_answers_each(bench: Bench, act_many: Any, make: Any, good: str) -> None:
    bench.define_queue("q")
    one, done = bench.subject(), bench.subject()
    bench.cancel(done)

    outcomes = bench.many(act_many, [make(one), make(done), make(done + 1_000_000)])

    assert answers(outcomes) == [good, "invalid_transition", "not_found"]


def test_two_actions_on_one_subject_in_one_set_follow_each_other(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()

    outcomes = bench.many(
        hold.hold_many, [PlaceHold(subject=subject, reason="one"), PlaceHold(subject=subject, reason="two")]
    )

    assert [o.seq for o in outcomes if isinstance(o, ActionResult)] == [2, 3]
    assert len(bench.thread(subject).active_holds) == 2


def test_empty_set_is_answered_by_nothing(bench: Bench) -> None:
    assert bench.submit_many([]) == []
    assert bench.many(cancel.cancel_many, []) == []
