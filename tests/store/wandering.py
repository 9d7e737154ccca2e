"""A random walk through the actions: whatever may happen to subjects, in any order, with a clock that moves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from tenure.model.errors import TenureError
from tenure.model.states import ErrorClass, State
from tenure.store.records import Claimed
from tests.store.actions import Lab

#: One step: what to do, to which of those there are, and how much of it.
STEPS = st.lists(
    st.tuples(st.sampled_from(range(24)), st.integers(0, 11), st.integers(0, 7)), min_size=10, max_size=45
)  # fmt: skip


class Walk:
    """Two queues, two workers and an operator. Refusals are part of the walk; anything else is a failure."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        lab.define("narrow", eligible_states=(State.READY,), site_scope=("north", "south"), max_attempts_default=2)
        self.workers = [lab.worker, lab.register("v", site_scope=("north",), max_concurrent_leases=5)]
        self.subjects: list[int] = []
        self.items: list[Claimed] = []
        self.done = 0
        self.refused = 0
        self._moves: list[Callable[[int, int], Any]] = [
            self._submit, self._submit, self._submit, self._claim, self._claim, self._claim, self._claim_one, self._start,
            self._complete, self._complete, self._fail, self._fail, self._release, self._renew, self._dispatch,
            self._defer, self._hold, self._release_hold, self._requeue, self._cancel, self._wait, self._wait,
            self._sweep, self._toggle,
        ]  # fmt: skip

    def step(self, move: int, which: int, amount: int) -> None:
        try:
            self._moves[move](which, amount)
            self.done += 1
        except TenureError:
            self.refused += 1

    def _submit(self, which: int, amount: int) -> None:
        lab = self.lab
        self.subjects.append(
            lab.submit(
                ("q", "q", "narrow")[which % 3],
                priority=amount % 3,
                due_at=lab.now + timedelta(hours=amount) if which % 2 else None,
                ready_at=lab.now + timedelta(seconds=100) if amount == 5 else None,
                site=(None, "north", "west")[amount % 3],
                slots=2 if which in (1, 5, 9) else 1,
                max_attempts=1 if amount == 6 else None,
                ready=amount != 7,
                properties={"amount": amount},
            )
        )

    def _claim(self, which: int, amount: int) -> None:
        worker = self.workers[which % 2]
        self.items += self.lab.claim(
            1 + amount // 2, ("q", "q", "narrow")[which % 3], worker=worker.uid, start=amount % 2 == 0,
            ttl_seconds=60 * (1 + amount),
        )  # fmt: skip

    def _claim_one(self, which: int, amount: int) -> None:
        if self.subjects:
            subject = self.subjects[which % len(self.subjects)]
            self.items += self.lab.claim(
                1,
                ("q", "narrow")[amount % 2],
                subject=subject,
                worker=self.workers[amount % 2].uid,
                start=which % 2 == 0,
            )

    def _start(self, which: int, amount: int) -> None:
        self._with_item(which, self.lab.start)

    def _complete(self, which: int, amount: int) -> None:
        more: dict[str, Any] = {"result": {"amount": amount, "ratio": 0.1}}
        if amount > 4:
            more = {"next_queue_key": ("q", "narrow")[amount % 2], "idempotency_key": f"k{which}"}
        elif amount == 4 and self.subjects:
            more = {"outputs": tuple(self.subjects[:2])}
        self._with_item(which, self.lab.complete, **more)

    def _fail(self, which: int, amount: int) -> None:
        error_class = (
            ErrorClass.TRANSIENT_SYSTEM, ErrorClass.TRANSIENT_SYSTEM, ErrorClass.TRANSIENT_DEPENDENCY,
            ErrorClass.PERMANENT_INPUT, ErrorClass.PERMANENT_STATE, ErrorClass.BUSINESS_RULE_HOLD,
            ErrorClass.OPERATOR_CANCELED, ErrorClass.TRANSIENT_CAPACITY,
        )[amount]  # fmt: skip
        more: dict[str, Any] = {"error_code": "E-7"} if which % 2 else {}
        if amount == 7:
            more["next_queue_key"] = ("q", "narrow")[which % 2]
        self._with_item(which, self.lab.fail, error_class=error_class, error_message="the door «jammed»", **more)

    def _release(self, which: int, amount: int) -> None:
        self._with_item(which, self.lab.release)

    def _renew(self, which: int, amount: int) -> None:
        if amount % 2 and self.items:
            self.lab.renew_all(self.items[: 1 + amount])
        else:
            self._with_item(which, self.lab.renew)

    def _dispatch(self, which: int, amount: int) -> None:
        deadline = self.lab.now + timedelta(seconds=50) if amount % 2 else None
        self._with_item(which, self.lab.dispatch, external_ref=f"slurm:{amount}", deadline=deadline)

    def _defer(self, which: int, amount: int) -> None:
        self._with_item(which, self.lab.defer, until=self.lab.now + timedelta(seconds=30 * amount))

    def _hold(self, which: int, amount: int) -> None:
        self._with_subject(which, self.lab.hold)

    def _release_hold(self, which: int, amount: int) -> None:
        self._with_subject(which, self.lab.release_hold)

    def _requeue(self, which: int, amount: int) -> None:
        self._with_subject(
            which, self.lab.requeue, queue_key=("q", "narrow")[amount % 2], reopen=amount > 3, reason="again"
        )

    def _cancel(self, which: int, amount: int) -> None:
        self._with_subject(which, self.lab.cancel if amount % 2 else self.lab.resolve)

    def _wait(self, which: int, amount: int) -> None:
        self.lab.later(1 + amount * 45)

    def _sweep(self, which: int, amount: int) -> None:
        if amount % 2 and self.items:
            self.lab.expire(self.items[which % len(self.items)].lease, force=amount > 4)
        else:
            self.lab.sweep()

    def _toggle(self, which: int, amount: int) -> None:
        self.lab.update("narrow", enabled=amount % 2 == 0, max_attempts_default=1 + which % 3)

    def _with_item(self, which: int, act: Callable[..., Any], **values: Any) -> None:
        if self.items:
            act(self.items[which % len(self.items)], **values)

    def _with_subject(self, which: int, act: Callable[..., Any], **values: Any) -> None:
        if self.subjects:
            act(self.subjects[which % len(self.subjects)], **values)
