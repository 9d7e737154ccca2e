"""What a handler returns or raises, and what becomes of its subject."""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime, timedelta

import pytest

from tenure import Defer, Dispatched, ErrorClass, Fail, Job, Next, Produced, Retry
from tenure.testing import MovableClock
from tests.worker import handlers
from tests.worker.conftest import App, fact_types, reached_by, state
from tests.worker.conftest import drained as drain


@pytest.fixture(params=["database", "http"])
def transport(request) -> str:
    return request.param


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def app(migrated_database, clock, transport):
    with App(migrated_database, clock=clock) as app:
        app.define_queue("q", retry_policy={"initial_delay_seconds": 60, "mode": "CONSTANT"}, max_attempts_default=3)
        with reached_by(app, transport):
            yield app
        assert app.verify().clean


def run(app, handler, **options):
    """Submit one call of a handler, drain, and give the subject."""
    task = app.task(queue="q", **options)(handler)
    subject = task.submit()
    drain(app)
    return subject


def raising(error):
    def handler() -> None:
        raise error

    return handler


def last(app, subject):
    return max(app.history(subject).attempts, key=lambda row: row.attempt.uid)


def test_next_sends_the_subject_on(app):
    app.define_queue("then")

    @app.task(queue="then", key="finish")
    def finish(job: Job) -> str:
        return f"attempt {job.attempt_number} of {job.subject}"

    def begin() -> Next:
        return Next("then", "finish", result={"half": "done"})

    subject = run(app, begin)

    first, second = sorted(app.history(subject).attempts, key=lambda row: row.attempt.uid)
    assert (first.attempt.queue_key, first.result) == ("q", {"half": "done"})
    assert second.attempt.queue_key == "then"
    assert state(app, subject) == "COMPLETED"


def test_what_was_produced_shows_in_the_lineage(app):
    app.define_queue("parts")

    def cut() -> Produced:
        made = [app.submit(queue_key="parts", name=f"part {n}") for n in range(3)]
        return Produced(made, result=len(made))

    subject = run(app, cut)

    edges = app.lineage(app.history(subject).thread.envelope.last_record)
    outputs = [edge.child for edge in edges if edge.relation == "execution_record_output"]
    assert len(outputs) == 3
    assert {app.inspect(uid).subject.name for uid in outputs} == {"part 0", "part 1", "part 2"}
    assert last(app, subject).result == 3


def test_an_outcome_that_is_refused_is_a_failure_and_harms_no_other_report(app):
    @app.task(queue="q")
    async def fine() -> str:
        return "fine"

    @app.task(queue="q")
    async def astray() -> Next:
        return Next("nowhere")

    @app.task(queue="q")
    async def past() -> None:
        raise Dispatched("slurm:42", deadline=app.settings.clock() - timedelta(days=1))

    refused = app.submit_many([astray.request(), past.request()])
    fines = app.submit_many([fine.request() for _ in range(5)])
    report = drain(app)

    assert (report["completed"], report["failed"], report["refused"]) == (5, 2, 0)
    assert {state(app, s) for s in fines} == {"COMPLETED"}
    assert {state(app, s) for s in refused} == {"FAILED_RETRYABLE"}
    assert [last(app, s).attempt.error_code for s in refused] == ["queue_unknown", "invalid_request"]


def test_a_retry_spends_an_attempt_and_waits_as_long_as_it_says(app, clock):
    subject = run(app, raising(Retry("busy", after_seconds=10, code="busy")))

    assert (state(app, subject), last(app, subject).attempt.error_code) == ("FAILED_RETRYABLE", "busy")
    clock.advance(seconds=9)
    assert drain(app)["claimed"] == 0
    clock.advance(seconds=1)
    assert drain(app)["claimed"] == 1


def test_retries_come_to_an_end_as_a_dead_letter(app, clock):
    subject = run(app, raising(Retry("never")))
    for _ in range(2):
        clock.advance(minutes=1)
        drain(app)

    assert state(app, subject) == "FAILED_TERMINAL"
    [row] = app.dead_letters()
    assert (row.letter.subject, row.letter.failure_count) == (subject.subject, 3)


def test_a_failure_for_good_is_a_dead_letter_at_once(app):
    subject = run(app, raising(Fail("no such file", code="missing")))

    assert state(app, subject) == "FAILED_TERMINAL"
    assert app.dead_letters()[0].error_message == "no such file"


def test_a_failure_may_hold_the_subject_for_a_person(app):
    subject = run(app, raising(Fail("odd", code="odd", error_class=ErrorClass.BUSINESS_RULE_HOLD)))

    assert state(app, subject) == "HELD"


def test_deferring_spends_no_attempt(app, clock):
    subject = run(app, raising(Defer(seconds=300)))

    assert (state(app, subject), fact_types(app, subject)[-1]) == ("READY", "execution.deferred")
    assert app.inspect(subject).situation.thread.envelope.attempt_count == 0
    clock.advance(seconds=600)  # over HTTP the real time that passed while the lease was held counts, too
    assert drain(app)["deferred"] == 1


def test_dispatched_work_is_finished_by_whoever_holds_the_token(app):
    kept = {}

    def send(job: Job) -> None:
        kept.update(lease=job.lease, token=job.token.reveal(), worker=job.item.worker)
        raise Dispatched("slurm:42")

    subject = run(app, send)

    assert (state(app, subject), last(app, subject).attempt.external_ref) == ("WAITING_EXTERNAL", "slurm:42")
    app.complete(kept["lease"], worker=kept["worker"], token=kept["token"], result="done outside")
    assert (state(app, subject), last(app, subject).result) == ("COMPLETED", "done outside")


def test_any_other_exception_is_tried_again_with_its_traceback_kept(app):
    subject = run(app, raising(ZeroDivisionError("by naught")))

    row = last(app, subject)
    assert (state(app, subject), row.attempt.error_class) == ("FAILED_RETRYABLE", "TRANSIENT_SYSTEM")
    assert row.attempt.error_code == "ZeroDivisionError"
    assert row.error_message.rstrip().endswith("ZeroDivisionError: by naught")


def test_arguments_that_do_not_fit_fail_for_good(app):
    @app.task(queue="q", key="work")
    def work(number: int) -> None: ...

    subject = app.submit(queue_key="q", next_action_key="work", properties={"number": "many"})
    drain(app)

    assert (state(app, subject), last(app, subject).attempt.error_class) == ("FAILED_TERMINAL", "PERMANENT_INPUT")


def test_a_task_that_this_worker_does_not_have_is_left_for_one_that_has_it(app, clock):
    subject = app.submit(queue_key="q", next_action_key="elsewhere")
    drain(app, queues=["q"])
    assert (state(app, subject), last(app, subject).attempt.error_code) == ("FAILED_RETRYABLE", "no_task")

    app.task(queue="q", key="elsewhere")(lambda: None)
    clock.advance(minutes=1)
    drain(app)
    assert state(app, subject) == "COMPLETED"


async def _cancels_itself() -> None:
    inner = asyncio.ensure_future(asyncio.sleep(60))
    inner.cancel()
    await inner


def _exits() -> None:
    sys.exit("enough")


async def _exits_in_the_loop() -> None:
    sys.exit("enough")


class Odd(BaseException):
    """No Exception, as what ``pytest.fail`` raises is none."""


class Speechless(Fail):
    """Cannot be told."""

    def __str__(self) -> str:
        raise LookupError


def raising_in_the_loop(error):
    async def handler() -> None:
        raise error

    return handler


@pytest.mark.parametrize(
    ("handler", "code"),
    [
        (raising(Retry("x", after_seconds=-1)), "invalid_outcome"),
        (raising(Retry("x", code="")), "invalid_outcome"),
        (raising(Defer(until=datetime(2026, 1, 1))), "invalid_outcome"),  # noqa: DTZ001 - that is the point
        (raising(Fail("x\x00y \ud800", code="odd")), "odd"),
        (raising(ValueError("x" * 200_000)), "ValueError"),
        (_cancels_itself, "CancelledError"),
        (_exits, "SystemExit"),
        (_exits_in_the_loop, "SystemExit"),
        (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
        (raising_in_the_loop(KeyboardInterrupt()), "KeyboardInterrupt"),
        (raising(Odd("x")), "Odd"),
        (raising_in_the_loop(Odd("x")), "Odd"),
        (raising(StopIteration()), "RuntimeError"),
        (raising_in_the_loop(StopIteration()), "RuntimeError"),
        (raising(Speechless()), "LookupError"),
        (raising_in_the_loop(Speechless()), "LookupError"),
    ],
)
def test_whatever_a_handler_does_there_is_a_report_and_the_worker_lives(app, handler, code):
    subject = run(app, handler)

    assert last(app, subject).attempt.error_code == code
    assert last(app, subject).attempt.lease_status != "ACTIVE"


@pytest.mark.parametrize(
    ("handler", "code"),
    [
        (handlers.raise_odd, "Odd"),
        (handlers.raise_keyboard_interrupt, "KeyboardInterrupt"),
        (handlers.find_nothing, "RuntimeError"),
    ],
)
def test_so_there_is_of_what_runs_in_a_process(app, handler, code):
    subject = run(app, handler, executor="process")

    assert last(app, subject).attempt.error_code == code
    assert last(app, subject).attempt.lease_status != "ACTIVE"


@pytest.mark.parametrize("error", [KeyError("customer"), Odd("x")])
def test_a_limit_key_that_fails_is_a_failure_of_the_job(app, error):
    def no_key(arguments: object) -> str:
        raise error

    subject = run(app, lambda: None, key="work", limit_key=no_key)

    assert last(app, subject).attempt.error_code == type(error).__name__
