"""Of many subjects that one statement writes the law refuses what it refuses of one, whichever way it looks at them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import sub
from typing import TypeVar

import psycopg
import pytest

from tenure.engine.actions.submit import submit_many
from tenure.model.requests import SubmitSubject
from tenure.store.records import Claimed, Finish
from tests.store.actions import TOKEN, Lab

T = TypeVar("T")

#: What the three rows of a birth hold: ``n`` numbers the subjects from 1.
_RIGHT = {
    "born": "true", "subject_tenant": "tenant", "told": "true", "fact_seq": "1",
    "fact_state": "'READY'", "fact_revision": "1", "fact_queue": "'q'", "type": "'subject.submitted'", "actor": "'user:ada'",
    "data": "null", "hash": "sha256(int8send(uid))", "seq": "1", "revision": "1", "slots_free": "1", "state": "'READY'",
    "queue": "'q'", "head": "sha256(int8send(uid))", "in_run": "false", "more": "false", "thread": "uid", "more_seq": "2",
}  # fmt: skip
_BIRTHS = """\
with given as (select n, {uid} as uid, {tenant} as tenant from generate_series(1, {count}) n),
born as (
    insert into tenure.subject (uid, tenant, template, properties, created_at)
    select uid, {subject_tenant}, {template}, '{{}}', tenure.now() from given where {born}),
told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, data, hash)
    select uid, {fact_seq}, tenant, tenure.now(), {fact_revision}, ({fact_state})::tenure.state, {type}, {actor}, {fact_queue},
        ({data})::jsonb, {hash}
    from given where {told}
    union all
    select {thread}, {more_seq}, tenant, tenure.now(), 1, 'READY', 'subject.requeued', 'user:ada', 'q', null, sha256('x')
    from given where {more})
insert into tenure.execution (uid, tenant, created_at, seq, revision, slots_free, state, next_queue_key, head, in_run)
select uid, tenant, tenure.now(), {seq}, {revision}, {slots_free}, ({state})::tenure.state, {queue}, {head}, {in_run}
from given"""
#: What is wrong with one of them, and how it is refused.
_WRONG = {
    "no data tier": ({"born": "false"}, "TN006"),
    "a data tier of another tenant": ({"subject_tenant": "tenant + 2"}, "TN006"),
    "no fact": ({"told": "false"}, "TN003"),
    "a fact with another hash": ({"hash": "sha256('x')"}, "TN003"),
    "a fact with another state": ({"fact_state": "'PENDING'"}, "TN003"),
    "a fact with another revision": ({"fact_revision": "2"}, "TN003"),
    "a fact of another queue": ({"fact_queue": "null"}, "TN003"),
    "a fact that is not the first": ({"fact_seq": "2"}, "TN003"),
    "a fact more than its envelope knows": ({"more": "true"}, "TN005"),
    "a fact before the first": ({"more": "true", "more_seq": "0"}, "23514"),
    "a first fact of nobody's": ({"more": "true", "thread": "4", "more_seq": "1"}, "TN005"),
    "a fact without an actor": ({"actor": "' '"}, "23514"),
    "a fact with half a hash": ({"hash": "substring(sha256('x') for 16)", "head": "substring(sha256('x') for 16)"}, "23514"),
    "a fact of a type that is not registered": ({"type": "'subject.abducted'"}, "TN004"),
    "a fact with forbidden data": ({"data": """'{"password": "x"}'"""}, "23514"),
    "an envelope ahead of its facts": ({"seq": "2"}, "TN003"),
    "an envelope that does not add up": ({"slots_free": "2"}, "TN002"),
    "an envelope without a revision": ({"revision": "0", "fact_revision": "0"}, "TN002"),
    "an envelope that is held by nothing": ({"state": "'HELD'", "fact_state": "'HELD'"}, "TN002"),
    "a step of no run": ({"in_run": "true"}, "TN006"),
}  # fmt: skip
_WAYS = {"one": (1, False), "many by key": (60, False), "many together": (60, True), "one, as many": (1, True)}


def _filled(template: str, right: Mapping[str, str], wrong: Mapping[str, str], bad: int) -> str:
    """The statement, with what is wrong in the row numbered ``bad`` alone."""
    columns = {
        name: f"case when n = {bad} then {wrong[name]} else {column} end" if name in wrong else column
        for name, column in right.items()
    }
    return template.format(**columns)


def _written(lab: Lab, statement: str, together: bool) -> None:
    """Do it, having said whether its rows are to be looked at together, or leave everything as it was."""
    with lab.connection.transaction():
        lab.connection.execute("select set_config('tenure.together', %s, true)", ["on" if together else "off"])
        lab.connection.execute(statement.encode())


def _births(lab: Lab, count: int, wrong: Mapping[str, str] | None = None, bad: int = 0, uid: str = "8 + 2 * n") -> str:
    """``count`` births; the one numbered ``bad`` is wrong."""
    template = lab.sql("select uid from tenure.template limit 1")[0][0]
    given = {"uid": uid, "count": str(count), "template": str(template), "tenant": str(lab.tenant)}
    return _filled(_BIRTHS, _RIGHT | given, wrong or {}, bad)


def _looks(lab: Lab, table: str) -> tuple[int, int]:
    """How often an index of the table was searched in this transaction, and how many rows that gave."""
    ((searches, rows),) = lab.sql(
        "select idx_scan, idx_tup_fetch from pg_stat_xact_user_tables where schemaname = 'tenure' and relname = %s",
        table,
    )
    return searches, rows


def _submitted(lab: Lab, count: int) -> None:
    lab.run(submit_many(lab.caller, [SubmitSubject(queue_key="q")] * count))


def _completed(lab: Lab, held: Sequence[Claimed]) -> None:
    finishes = [Finish(item.lease, TOKEN, b"p" * 32) for item in held]
    done = lab.run(lab.store.complete_plain(lab.tenant, lab.worker.uid, "user:ada", finishes))
    assert len(done) == len(held)


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("wrong", _WRONG)
def test_one_that_is_not_right_is_refused_among_any_number(lab: Lab, wrong: str, way: str) -> None:
    change, code = _WRONG[wrong]
    count, together = _WAYS[way]
    with pytest.raises(psycopg.Error) as caught:
        _written(lab, _births(lab, count, change, bad=(count + 1) // 2), together)
    assert caught.value.sqlstate == code, caught.value
    assert lab.sql("select count(*) from tenure.execution") == [(0,)]


@pytest.mark.parametrize("uid", ["8 + 2 * n", "8 + 2000 * n"], ids=["close", "far apart"])
@pytest.mark.parametrize("way", _WAYS)
def test_what_is_right_is_born_wherever_its_numbers_lie(lab: Lab, uid: str, way: str) -> None:
    count, together = _WAYS[way]
    _written(lab, _births(lab, count, uid=uid), together)
    assert lab.sql("select count(*) from tenure.execution") == [(count,)]


def test_births_among_those_of_others_are_seen_as_what_they_are(lab: Lab) -> None:
    """The stretch holds others' rows; of two interleaved batches neither stands in for the other."""
    _written(lab, _births(lab, 60, uid="8 + 4 * n"), together=True)
    theirs = _births(lab, 60, {"born": "false"}, bad=30, uid="10 + 4 * n")
    with pytest.raises(psycopg.Error, match="no subject"):
        _written(lab, theirs, together=True)
    _written(lab, _births(lab, 60, uid="10 + 4 * n"), together=True)
    assert lab.sql("select count(*) from tenure.execution") == [(120,)]


#: An honest change of every subject, as a hold would make it.
_CHANGE = """\
with given as (select uid, tenant, seq, revision, head, row_number() over (order by uid) as n from tenure.execution),
told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, hash)
    select uid, {fact_seq}, tenant, tenure.now(), {fact_revision}, ({fact_state})::tenure.state, 'subject.canceled', 'user:ada',
        {fact_queue}, {hash}
    from given where {told})
update tenure.execution e
set state = 'CANCELED', seq = {seq}, revision = {revision}, head = sha256(g.head), slots_free = {slots_free}
from given g where g.uid = e.uid"""
_HONEST = {
    "fact_seq": "seq + 1", "fact_revision": "revision + 1", "fact_state": "'CANCELED'", "fact_queue": "'q'", "hash": "sha256(head)",
    "told": "true", "seq": "g.seq + 1", "revision": "g.revision + 1", "slots_free": "1",
}  # fmt: skip
_DISHONEST = {
    "no fact": ({"told": "false"}, "TN003"),
    "a fact with another hash": ({"hash": "head"}, "TN003"),
    "a fact with another state": ({"fact_state": "'READY'"}, "TN003"),
    "a fact with another revision": ({"fact_revision": "revision"}, "TN003"),
    "a fact of another queue": ({"fact_queue": "null"}, "TN003"),
    "a fact too late": ({"fact_seq": "seq + 2"}, "TN003"),
    "an envelope ahead of its facts": ({"seq": "g.seq + 2"}, "TN003"),
    "an envelope that does not add up": ({"slots_free": "2"}, "TN002"),
}
_ATTEMPTS = """\
insert into tenure.attempt (uid, tenant, subject, queue, worker, slot, attempt_number, lease_status, record_status, claimed_at,
    expires_at, token_hash)
select nextval('tenure.uid'), tenant, {subject}, {queue}, {worker}, 2, attempt_number, lease_status, record_status, claimed_at,
    expires_at, token_hash
from (select *, row_number() over (order by subject) as n from tenure.attempt where lease_status = 'ACTIVE') given"""


@pytest.mark.parametrize("way", _WAYS)
def test_any_number_of_envelopes_is_changed_honestly(lab: Lab, way: str) -> None:
    count, together = _WAYS[way]
    _submitted(lab, count)
    _written(lab, _filled(_CHANGE, _HONEST, {}, bad=0), together)
    assert lab.sql("select count(*) from tenure.execution where state = 'CANCELED'") == [(count,)]


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("wrong", _DISHONEST)
def test_one_envelope_that_is_changed_dishonestly_is_refused_among_any_number(lab: Lab, wrong: str, way: str) -> None:
    change, code = _DISHONEST[wrong]
    count, together = _WAYS[way]
    _submitted(lab, count)
    with pytest.raises(psycopg.Error) as caught:
        _written(lab, _filled(_CHANGE, _HONEST, change, bad=(count + 1) // 2), together)
    assert caught.value.sqlstate == code, caught.value


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize(
    ("edge", "nowhere"), [("subject", "subject + 1"), ("subject", "4"), ("queue", "4"), ("worker", "4")]
)
def test_one_attempt_that_leads_to_nowhere_is_refused_among_any_number(
    lab: Lab, edge: str, nowhere: str, way: str
) -> None:
    count, together = _WAYS[way]
    _submitted(lab, count)
    assert len(lab.claim(count)) == count
    right = {name: name for name in ("subject", "queue", "worker")}
    with pytest.raises(psycopg.Error, match=f"no such {edge}") as caught:
        _written(lab, _filled(_ATTEMPTS, right, {edge: nowhere}, bad=(count + 1) // 2), together)
    assert caught.value.sqlstate == "TN006"
    _written(lab, _filled(_ATTEMPTS, right, {}, bad=0), together)


@pytest.mark.parametrize("way", _WAYS)
def test_a_birth_with_two_facts_is_lawful_among_any_number(lab: Lab, way: str) -> None:
    count, together = _WAYS[way]
    begun = {"more": "true", "seq": "2", "head": "sha256('x')"}
    _written(lab, _births(lab, count, begun, bad=(count + 1) // 2), together)
    assert lab.sql("select count(*) from tenure.execution") == [(count,)]


def test_many_are_looked_for_by_one_search_of_an_index(lab: Lab) -> None:
    """Searches for each row of few and of many: what is left is the statement's own."""
    searches: dict[str, list[int]] = {}

    def counted(what: str, table: str, act: Callable[[], T]) -> T:
        before = _looks(lab, table)[0]
        done = act()
        searches.setdefault(what, []).append(_looks(lab, table)[0] - before)
        return done

    for count in (49, 200):
        for table in ("subject", "fact", "execution"):
            counted(f"{table} at births", table, partial(_submitted, lab, count))
        held = counted("execution at claims", "execution", partial(lab.claim, count))
        counted("execution at completions", "execution", partial(_completed, lab, held))
    each = {what: (few // 49, many // 200) for what, (few, many) in searches.items()}
    assert each == {
        "subject at births": (1, 0), "fact at births": (1, 0), "execution at births": (1, 0),
        "execution at claims": (3, 1), "execution at completions": (2, 1),
    }  # fmt: skip


@pytest.mark.parametrize("length", [1, 400])
def test_however_long_the_threads_in_between_a_few_rows_are_read_for_each_birth(lab: Lab, length: int) -> None:
    """Renewals make threads long. What lies in the stretch beside what is looked for is not read to its end."""
    _written(lab, _births(lab, 60, uid="8 + 4 * n"), together=True)
    lab.tamper(
        """insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, hash)
        select thread, seq + n, tenant, at, revision, state, 'lease.renewed', actor, queue_key, sha256(int8send(n))
        from tenure.fact, generate_series(1, %s) n where state is not null""",
        length,
    )
    before = _looks(lab, "fact")
    _written(lab, _births(lab, 60, uid="10 + 4 * n"), together=True)
    searches, rows = map(sub, _looks(lab, "fact"), before)
    assert (searches < 60) is (length == 1)
    assert rows <= 6 * 60


def test_a_serializable_transaction_looks_by_key(lab: Lab) -> None:
    said = []
    with psycopg.connect(lab.connection.info.dsn, autocommit=True) as other:
        for level in ("serializable", "repeatable read"):
            with other.transaction(force_rollback=True):
                other.execute(f"set transaction isolation level {level}".encode())
                said.append(other.execute("select tenure.tell_how_many(1000)").fetchone())
    assert said == [("off",), ("on",)]


def test_a_statement_of_many_says_so_and_one_of_few_does_not(lab: Lab) -> None:
    def said() -> bool:
        return lab.sql("select current_setting('tenure.together', true) = 'on'") == [(True,)]

    lab.submit()
    assert not said()
    _submitted(lab, 60)
    assert said()
    few = lab.claim(6)
    assert not said()
    many = lab.claim(55)
    assert said()
    for held, is_many in ((few, False), (many, True)):
        _completed(lab, held)
        assert said() is is_many
