"""A crash at every boundary of every statement of every action: all of it happened or nothing, and a retry completes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.engine.actions import complete as complete_action
from tenure.model.errors import Conflict, StoreUnavailable
from tenure.model.json_text import payload_hash
from tenure.model.requests import CompleteExecution
from tenure.model.result import ActionResult
from tenure.store.operation import Op
from tenure.store.postgres.runner import run
from tenure.store.records import Finish
from tests.store.actions import NOON, TOKEN, Lab


class Crashed(Exception):
    """The client is gone."""


class CrashingLab(Lab):
    """A laboratory whose next operation, once armed, breaks at one boundary."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._armed: tuple[int, str] | None = None
        self.reached = False
        super().__init__(dsn)

    def arm(self, number: int, when: str) -> None:
        self._armed, self.reached = (number, when), False

    def run(self, op: Op[Any]) -> Any:
        if self._armed is None:
            return super().run(op)
        (number, when), self._armed = self._armed, None
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            connection.execute("select set_config('tenure.now', %s, false)", [self.now.isoformat()])
            return run(connection, self._broken(op, connection, number, when))

    def _broken(self, op: Op[Any], connection: psycopg.Connection, number: int, when: str) -> Op[Any]:
        """``op`` up to its ``number``-th step, before which its backend is terminated, or after which the client goes."""
        pid = connection.info.backend_pid
        step, count = next(op), 0
        try:
            while True:
                count += 1
                if (count, "before") == (number, when):
                    self.reached = True
                    self.sql("select pg_terminate_backend(%s)", pid)
                    self._wait_until_gone(pid)
                try:
                    answer = yield step
                except psycopg.Error as error:
                    step = op.throw(error)
                    continue
                if (count, "after") == (number, when):
                    self.reached = True
                    connection.close()
                    self._wait_until_gone(pid)
                    raise Crashed
                step = op.send(answer)
        except StopIteration as stop:
            return stop.value

    def _wait_until_gone(self, pid: int) -> None:
        deadline = time.monotonic() + 10
        while self.sql("select 1 from pg_stat_activity where pid = %s", pid):
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def told_since(self, position: int) -> list[str]:
        return [
            row[0] for row in self.sql("select type from tenure.fact where position > %s order by position", position)
        ]

    @property
    def position(self) -> int:
        return self.sql("select max(position) from tenure.fact")[0][0]


@pytest.fixture
def lab(migrated_database: str) -> Iterator[CrashingLab]:
    made = CrashingLab(migrated_database)
    made.define("next")
    yield made
    made.close()


def claimed(lab: CrashingLab, **request: Any) -> Any:
    lab.submit()
    [item] = lab.claim(**request)
    return item


def held(lab: CrashingLab) -> int:
    subject = lab.submit()
    lab.hold(subject)
    return subject


def dead(lab: CrashingLab) -> int:
    item = claimed(lab)
    lab.fail(item, error_class="PERMANENT_INPUT")
    return item.subject


def lapsed(lab: CrashingLab) -> Any:
    item = claimed(lab, ttl_seconds=1)
    lab.later(1)
    return item


def finish(lab: CrashingLab, item: Any, key: str) -> Any:
    finishes = [Finish(item.lease, TOKEN, payload_hash({"result": 1}), 1)]
    return lab.run(complete_action.finish_many(lab.caller, item.worker, finishes))


def of_two_workers(lab: CrashingLab) -> list[Any]:
    """Three subjects, two of them held by one worker and one by another."""
    for _ in range(3):
        lab.submit()
    other = lab.register("other")
    return [*lab.claim(2), *lab.claim(1, worker=other.uid, incarnation=other.incarnation)]


def finish_mixed(lab: CrashingLab, items: list[Any], key: str, keyed: int = 0) -> Any:
    """Complete all, the first ``keyed`` with a key of their own and a next queue."""
    requests = [
        CompleteExecution(
            lease=item.lease, worker=item.worker, token_hash=TOKEN, idempotency_key=f"{key} {number}",
            next_queue_key="next",
        )
        if number < keyed
        else CompleteExecution(lease=item.lease, worker=item.worker, token_hash=TOKEN)
        for number, item in enumerate(items)
    ]  # fmt: skip
    outcomes = lab.run(complete_action.complete_many(lab.caller, requests))
    assert [outcome for outcome in outcomes if not isinstance(outcome, ActionResult)] == []
    return outcomes


ACTIONS: dict[str, tuple[Callable[[CrashingLab], Any], Callable[[CrashingLab, Any, str], Any]]] = {
    "submit": (lambda lab: None, lambda lab, _, key: lab.submit(idempotency_key=key)),
    "submit with parents": (
        lambda lab: lab.submit(queue_key=None, ready=False),
        lambda lab, parent, key: lab.submit(idempotency_key=key, parents=(parent,)),
    ),
    "claim": (lambda lab: [lab.submit() for _ in range(3)], lambda lab, _, key: lab.claim(3, idempotency_key=key)),
    "claim of one": (
        lambda lab: lab.submit(),
        lambda lab, subject, key: lab.claim(subject=subject, idempotency_key=key),
    ),
    "start": (lambda lab: claimed(lab, start=False), lambda lab, item, key: lab.start(item)),
    "renew": (claimed, lambda lab, item, key: lab.renew(item, idempotency_key=key)),
    "dispatch": (claimed, lambda lab, item, key: lab.dispatch(item, external_ref="slurm:1")),
    "complete": (claimed, lambda lab, item, key: lab.complete(item, result=1)),
    "complete in the hot statement": (claimed, finish),
    "complete some with a key": (of_two_workers, lambda lab, items, key: finish_mixed(lab, items[:2], key, keyed=1)),
    "complete of two workers": (of_two_workers, finish_mixed),
    "complete with a next queue": (
        claimed,
        lambda lab, item, key: lab.complete(item, next_queue_key="next", result={"half": 1}),
    ),
    "complete with outputs": (
        lambda lab: (lab.submit(queue_key=None, ready=False), claimed(lab)),
        lambda lab, pair, key: lab.complete(pair[1], outputs=(pair[0],)),
    ),
    "fail for a while": (claimed, lambda lab, item, key: lab.fail(item, error_message="busy")),
    "fail for good": (claimed, lambda lab, item, key: lab.fail(item, error_class="PERMANENT_INPUT")),
    "defer": (claimed, lambda lab, item, key: lab.defer(item, NOON + timedelta(days=365))),
    "release": (claimed, lambda lab, item, key: lab.release(item)),
    "hold of a leased subject": (claimed, lambda lab, item, key: lab.hold(item.subject, idempotency_key=key)),
    "release of a hold": (held, lambda lab, subject, key: lab.release_hold(subject, idempotency_key=key)),
    "requeue": (
        lambda lab: lab.submit(),
        lambda lab, subject, key: lab.requeue(subject, queue_key="next", priority=5, idempotency_key=key),
    ),
    "requeue of a dead subject": (
        dead,
        lambda lab, subject, key: lab.requeue(subject, reopen=True, reason="again", idempotency_key=key),
    ),
    "cancel of a leased subject": (claimed, lambda lab, item, key: lab.cancel(item.subject, idempotency_key=key)),
    "resolve": (dead, lambda lab, subject, key: lab.resolve(subject)),
    "expire": (lapsed, lambda lab, item, key: lab.expire(item.lease)),
    "sweep": (lapsed, lambda lab, item, key: lab.sweep()),
}


def tidy(lab: CrashingLab) -> None:
    """What a case left in the queues would be claimed by the next."""
    for (uid,) in lab.sql(
        "select uid from tenure.execution where state not in ('COMPLETED', 'CANCELED', 'FAILED_TERMINAL') order by uid"
    ):
        lab.cancel(uid)


@pytest.mark.parametrize("name", ACTIONS)
def test_a_crash_at_any_boundary_leaves_all_or_nothing_and_a_retry_completes_it(lab, name, tell):
    prepare, act = ACTIONS[name]
    what = prepare(lab)
    start = lab.position
    act(lab, what, "undisturbed")
    expected = lab.told_since(start)
    assert expected
    outcomes = {"nothing": 0, "all": 0}

    boundaries = 0
    for when in ("before", "after"):
        number = 0
        while True:
            number += 1
            tidy(lab)
            what = prepare(lab)
            start = lab.position
            key = f"{when} {number}"
            lab.arm(number, when)
            try:
                act(lab, what, key)
            except (Crashed, StoreUnavailable):
                assert lab.reached
            if not lab.reached:
                break  # it has no more steps
            boundaries += 1
            told = lab.told_since(start)
            assert told in ([], expected), (when, number)
            outcomes["all" if told else "nothing"] += 1

            retry(lab, act, what, key, name)

            assert lab.told_since(start) == expected, (when, number, told)
    report = lab.verified()
    tell(f"{boundaries} boundaries, {outcomes}")
    assert report.clean, report
    assert outcomes["nothing"] > 0
    assert outcomes["all"] > 0


def retry(lab: CrashingLab, act: Any, what: Any, key: str, name: str) -> None:
    """Send it again, as whoever got no answer does."""
    if name == "resolve":
        # An operator's action without a key is refused once it was done.
        try:
            act(lab, what, key)
        except Conflict:
            return
    elif name == "complete in the hot statement":
        # What the hot statement leaves is completed by the action, as the worker does it.
        if not act(lab, what, key):
            assert lab.complete(what, result=1).replayed
    else:
        act(lab, what, key)
