"""The order of a queue (S1 section 3.4)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tenure.model.envelope import Envelope
from tenure.model.ordering import order_key
from tenure.model.states import State
from tests.model.scene import T0, TEMPLATE


def envelope(uid: int, **values: Any) -> Envelope:
    base: dict[str, Any] = {
        "uid": uid, "tenant": 1, "template": TEMPLATE, "created_at": T0, "state": State.READY, "revision": 1, "seq": 1,
    }  # fmt: skip
    return Envelope(**base | values)


def order(*envelopes: Envelope) -> list[int]:
    return [e.uid for e in sorted(envelopes, key=order_key)]


def later(seconds: float) -> Any:
    return T0 + timedelta(seconds=seconds)


def test_higher_priority_goes_first() -> None:
    assert order(envelope(1), envelope(2, priority=1), envelope(3, priority=-1)) == [2, 1, 3]


def test_within_a_priority_what_is_due_first_goes_first_and_undue_last() -> None:
    assert order(envelope(1), envelope(2, due_at=later(9)), envelope(3, due_at=later(5))) == [3, 2, 1]


def test_within_a_due_date_what_became_eligible_first_goes_first() -> None:
    waiting = envelope(1, retry_at=later(7), ready_at=later(1))
    assert order(waiting, envelope(2, ready_at=later(5)), envelope(3)) == [3, 2, 1]


def test_within_eligibility_what_was_created_first_goes_first() -> None:
    same = {"ready_at": later(99)}
    assert order(envelope(1, created_at=later(2), **same), envelope(2, created_at=later(1), **same)) == [2, 1]


def test_the_uid_decides_at_last() -> None:
    assert order(envelope(6), envelope(4), envelope(5)) == [4, 5, 6]


def test_priority_outweighs_everything_else() -> None:
    assert order(envelope(1, due_at=T0), envelope(2, priority=1, ready_at=later(10**6))) == [2, 1]


def test_another_moment_of_eligibility_may_be_given() -> None:
    assert order_key(envelope(1), later(5)) > order_key(envelope(2), later(4))
