"""The line of each action: all of S1 section 9.5's fields, and nothing of a payload or a token."""

from __future__ import annotations

import json
import logging

import pytest

from tenure import Fail, Tenure
from tenure.engine.logging import FIELDS
from tenure.model import euid
from tenure.model.errors import NotFound
from tenure.testing import MovableClock, drain

MARK = "Ada Lovelace 1815"
FIELDS_OF_9_5 = {
    "tenant", "subject", "worker", "lease", "queue_key", "action_key", "idempotency_key", "expected_state",
    "terminal_status", "duration_ms", "correlation_id",
}  # fmt: skip


@pytest.fixture
def lines(caplog):
    """The lines written so far, parsed; taken away once read."""
    caplog.set_level(logging.INFO, logger="tenure")

    def read():
        found = [json.loads(r.getMessage()) for r in caplog.records if r.name == "tenure.action"]
        caplog.clear()
        return found

    return read


@pytest.fixture
def app(migrated_database):
    with Tenure(migrated_database, actor="user:ada") as app:
        app.define_queue("q", max_attempts_default=2, retry_policy={"mode": "CONSTANT", "initial_delay_seconds": 0})
        yield app


def only(lines):
    [line] = lines
    assert set(FIELDS) <= set(line)
    assert set(FIELDS) >= FIELDS_OF_9_5
    return line


def test_a_submission_tells_subject_queue_key_and_correlation(app, lines):
    lines()
    subject = app.submit(queue_key="q", correlation_id="order-7", idempotency_key="k1", name=MARK)
    line = only(lines())

    assert line["subject"] == euid.format_euid(euid.SUBJECT, subject.subject)
    told = [line[name] for name in ("tenant", "actor", "action_key", "queue_key", "correlation_id", "idempotency_key")]
    assert told == ["default", "user:ada", "submit_subject", "q", "order-7", "k1"]
    assert (line["terminal_status"], line["outcome"], line["worker"]) == ("READY", "done", None)
    assert line["duration_ms"] > 0


@pytest.mark.parametrize("guarded", [False, True], ids=["plain", "guarded"])
def test_the_actions_of_a_worker_tell_lease_worker_and_the_correlation_of_the_subject(app, lines, guarded):
    subject = app.submit(queue_key="q", correlation_id="order-7")
    worker = app.register_worker("w")
    lines()
    [lease] = app.claim(worker, "q", start=True)
    claimed = only(lines())
    app.renew(lease)
    renewed = only(lines())
    app.complete(lease, **({"expected_state": "RUNNING", "idempotency_key": "k"} if guarded else {}))
    completed = only(lines())

    lease_euid = euid.format_euid(euid.LEASE, lease.lease)
    for line, action in ((claimed, "claim_queue_item"), (renewed, "renew_queue_lease"),
                         (completed, "complete_queue_execution")):  # fmt: skip
        assert line["action_key"] == action
        assert line["subject"] == euid.format_euid(euid.SUBJECT, subject.subject)
        assert line["worker"] == euid.format_euid(euid.WORKER, worker.uid)
        assert (line["lease"], line["queue_key"], line["correlation_id"]) == (lease_euid, "q", "order-7")
    # A lease's own EUID is the key for its terminal action where the caller gives none.
    assert completed["idempotency_key"] == ("k" if guarded else lease_euid)
    assert completed["expected_state"] == ("RUNNING" if guarded else None)
    assert completed["terminal_status"] == "COMPLETED"


def test_what_is_refused_is_told_with_its_code(app, lines):
    subject = app.submit(queue_key="q", correlation_id="order-7")
    lines()
    with pytest.raises(NotFound):
        app.hold(999_999, reason="odd")
    unknown = only(lines())
    app.cancel(subject)
    lines()
    with pytest.raises(Exception, match="CANCELED"):
        app.hold(subject, reason=MARK)
    illegal = only(lines())

    assert (unknown["outcome"], unknown["code"]) == ("refused", "not_found")
    assert (illegal["code"], illegal["correlation_id"]) == ("invalid_transition", "order-7")


def test_registry_actions_and_expiries_have_their_line(migrated_database, lines):
    clock = MovableClock()
    with Tenure(migrated_database, clock=clock, actor="user:ada") as app:
        app.define_queue("q", lease_ttl_seconds=10)
        app.update_queue_policy("q", lease_ttl_seconds=20, idempotency_key="k")
        app.submit(queue_key="q")
        worker = app.register_worker("w")
        app.heartbeat_worker(worker, incarnation=worker.incarnation)
        app.claim(worker, "q", start=True)
        app.drain_worker(worker, reason=MARK)
        clock.advance(seconds=21)
        app.sweep()
        app.retire_queue("q", reason=MARK)

    told = lines()
    assert [line["action_key"] for line in told] == [
        "define_queue", "update_queue_policy", "submit_subject", "register_worker", "heartbeat_worker",
        "claim_queue_item", "drain_worker", "expire_queue_lease", "retire_queue",
    ]  # fmt: skip
    assert all(set(FIELDS) <= set(line) for line in told)
    assert told[1]["idempotency_key"] == "k"
    assert told[6]["worker"] == euid.format_euid(euid.WORKER, worker.uid)
    assert told[7]["lease"] is not None
    assert MARK not in json.dumps(told)


def test_nothing_of_a_payload_gets_into_any_log_whatever_a_handler_does(app, caplog):
    caplog.set_level(logging.DEBUG, logger="tenure")

    @app.task(queue="q")
    def returns(name: str) -> str:
        return name

    @app.task(queue="q")
    def raises(name: str) -> None:
        raise ValueError(name)

    @app.task(queue="q")
    def fails(name: str) -> None:
        raise Fail(name)

    @app.task(queue="q")
    def counts(name: int) -> None: ...

    app.submit_many([task.request(MARK) for task in (returns, raises, fails)])
    app.submit(queue_key="q", next_action_key=counts.key, properties={"name": MARK}, name=MARK)
    report = drain(app)

    assert (report["completed"], report["failed"]) == (1, 4)  # the one that raised was tried twice
    told = "\n".join(logging.Formatter().format(record) for record in caplog.records)
    assert "ValueError" in told
    assert MARK not in told
