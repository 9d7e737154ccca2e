"""The inbox on every store: a message does what it does once, with its id in the same transaction (design 05, In)."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from typing import Any

import psycopg
import pytest

from tenure.engine.actions.submit import submit
from tenure.engine.caller import Caller
from tenure.ledger.receiving import Received, receive
from tenure.model.errors import InvalidRequest, MessageConflict
from tenure.model.requests import SubmitSubject, validated
from tenure.store.operation import Op
from tests.store.harness import Bench, bench_on


def _hash(content: str) -> bytes:
    return hashlib.sha256(content.encode()).digest()


def _submits(caller: Caller) -> Op[int]:
    result = yield from submit(caller, validated(SubmitSubject, queue_key="q"))
    return result.subject or 0


def take_in(bench: Bench, message_id: str, content: str = "x", effect: Any = _submits) -> Received[int]:
    return bench.perform(receive, "bus", message_id, _hash(content), effect)


def test_a_message_has_its_effect_and_a_duplicate_has_none(bench: Bench) -> None:
    bench.define_queue("q")

    first = take_in(bench, "m1")
    bench.later(60)
    second = take_in(bench, "m1")

    assert bench.visible() == [first.value]
    assert (first.duplicate, second.duplicate, second.value) == (False, True, None)
    assert second.received_at == first.received_at


def test_an_effect_that_fails_leaves_nothing_and_the_message_can_come_again(bench: Bench) -> None:
    bench.define_queue("q")

    def breaks(caller: Caller) -> Op[int]:
        yield from _submits(caller)
        raise InvalidRequest("broken", "mend it")

    assert bench.error(take_in, bench, "m1", effect=breaks).message == "broken"
    assert bench.visible() == []

    assert not take_in(bench, "m1").duplicate
    assert bench.depth() == 1


def test_another_content_under_a_known_id_is_refused_and_the_refusal_kept(
    bench: Bench, request: pytest.FixtureRequest
) -> None:
    bench.define_queue("q")
    take_in(bench, "m1", "this")

    refused = bench.error(take_in, bench, "m1", "that")

    assert isinstance(refused, MessageConflict)
    assert refused.status == 409
    assert bench.depth() == 1
    assert _refusals(bench, request) == ["message_conflict"]
    assert take_in(bench, "m1", "this").duplicate


def test_an_id_is_of_one_source_and_of_one_tenant(bench: Bench) -> None:
    bench.define_queue("q")
    other = bench.other_tenant("elsewhere")
    other.define_queue("q")

    assert not take_in(bench, "m1").duplicate
    assert not bench.perform(receive, "another bus", "m1", _hash("x"), _submits).duplicate
    assert not take_in(other, "m1", "another content").duplicate

    assert (bench.depth(), other.depth()) == (2, 1)


@pytest.mark.parametrize(("source", "message_id"), [("", "m"), ("bus", ""), ("b" * 201, "m"), ("bus", "m" * 501),
                                                    ("bus", "nul\x00"), ("bus", "half \ud800")])  # fmt: skip
def test_a_source_and_an_id_that_cannot_be_kept_are_refused(bench: Bench, source: str, message_id: str) -> None:
    refused = bench.error(bench.perform, receive, source, message_id, _hash("x"), _submits)

    assert refused.code == "invalid_request"


def test_of_many_that_come_at_once_one_has_the_effect(shared_connection: psycopg.Connection) -> None:
    bench = bench_on(shared_connection, "at_once")
    bench.define_queue("q")
    told: Counter[bool] = Counter()
    begin = threading.Barrier(8)

    def one() -> None:
        with bench.beside() as mine:
            begin.wait(30)
            for number in range(20):
                told[take_in(mine, f"m{number}").duplicate] += 1

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert told == {False: 20, True: 140}
    assert bench.depth() == 20


def test_what_was_taken_in_is_neither_changed_nor_forgotten(shared_connection: psycopg.Connection) -> None:
    bench = bench_on(shared_connection, "kept")
    bench.define_queue("q")
    take_in(bench, "m1")

    for attempt in (
        "update tenure.inbox set content_hash = sha256('y') where tenant = %s",
        "delete from tenure.inbox where tenant = %s",
    ):
        with pytest.raises(psycopg.Error) as refused:
            shared_connection.execute(attempt, [bench.tenant])
        assert refused.value.sqlstate == "TN001"


def _refusals(bench: Bench, request: pytest.FixtureRequest) -> list[str]:
    if bench.name == "memory":
        return [row.refused.code for owner, row in bench.store.data.refusals if owner == bench.tenant]  # type: ignore[attr-defined]
    connection = request.getfixturevalue("shared_connection")
    rows = connection.execute("select code from tenure.refusal where tenant = %s", [bench.tenant]).fetchall()
    return [code for (code,) in rows]
