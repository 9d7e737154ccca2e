"""Thousands at once: sent ahead in chunks, one transaction, an answer for each that is made when it is looked at."""

from __future__ import annotations

import psycopg
import pytest

from tenure import AsyncTenure, Tenure
from tenure.model.errors import NotFound, TenureError
from tenure.model.requests import SubmitSubject
from tenure.sdk.public_form import public

COUNT = 2_500


def requests(**odd: object) -> list[SubmitSubject]:
    """As many as take several chunks; number 2,300 has what is ``odd`` about it."""
    made = [SubmitSubject(queue_key="q", properties={"number": number}) for number in range(COUNT)]
    made[2_300] = SubmitSubject(**{"queue_key": "q", "properties": {"number": 2_300}} | odd)
    return made


def kept(database: str) -> int:
    """How many subjects there are."""
    with psycopg.connect(database) as connection:
        return connection.execute("select count(*) from tenure.subject").fetchone()[0]


def numbers(database: str, subjects: list[int]) -> list[int]:
    """The numbers of subjects, in that order."""
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "select (s.properties ->> 'number')::int from unnest(%s::bigint[]) with ordinality u(uid, place) "
            "join tenure.subject s using (uid) order by place",
            [subjects],
        )
        return [number for (number,) in rows]


@pytest.fixture
def hostile(database_with_orders: str) -> str:
    """A database that refuses the subject with number -1."""
    with psycopg.connect(database_with_orders) as connection:
        connection.execute(
            "create function tenure.refuse() returns trigger language plpgsql as "
            "$$begin raise exception 'Not this one' using errcode = 'TN002'; end$$"
        )
        connection.execute(
            "create trigger hostile before insert on tenure.subject for each row "
            "when ((new.properties ->> 'number') = '-1') execute function tenure.refuse()"
        )
    return database_with_orders


def test_answers_are_in_the_order_of_the_requests_and_can_be_looked_at_in_any_way(
    app: Tenure, database_with_orders: str
) -> None:
    answers = app.submit_many(requests(priority=3))

    assert len(answers) == COUNT
    assert [answer.subject for answer in answers] == [answers[place].subject for place in range(COUNT)]
    assert answers[-1] == answers[COUNT - 1]
    assert answers[2_300:2_302] == [answers[2_300], answers[2_301]]
    assert numbers(database_with_orders, [answers[place].subject for place in (0, 200, 2_300)]) == [0, 200, 2_300]
    assert answers == list(answers)
    assert repr(answers) == repr(list(answers))
    assert public(answers)[0] == public(answers[0])
    assert answers[2_300].data == {"set": {"priority": 3}}
    with pytest.raises(IndexError):
        answers[COUNT]


def test_what_is_in_error_among_them_has_its_error_at_its_place(app: Tenure) -> None:
    answers = app.submit_many(requests(template="unheard/of/1.0"))

    assert [place for place, answer in enumerate(answers) if isinstance(answer, TenureError)] == [2_300]
    assert isinstance(answers[2_300], NotFound)


def test_what_the_database_refuses_in_a_late_chunk_leaves_nothing_of_the_early_ones(app: Tenure, hostile: str) -> None:
    with pytest.raises(TenureError, match="Not this one"):
        app.submit_many(requests(properties={"number": -1}))
    assert kept(hostile) == 0

    assert len(app.submit_many(requests())) == COUNT
    assert kept(hostile) == COUNT


async def test_the_same_holds_for_an_async_client(async_app: AsyncTenure, hostile: str) -> None:
    with pytest.raises(TenureError, match="Not this one"):
        await async_app.submit_many(requests(properties={"number": -1}))
    assert kept(hostile) == 0

    assert len(await async_app.submit_many(requests())) == COUNT
