"""The hash of a fact and the face of a uid are the same in SQL and in Python, whatever they hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.model import euid
from tenure.model.fact import Fact
from tenure.model.json_text import canonical_json
from tenure.model.states import State
from tests.store.actions import Lab

_UID = st.integers(1, 2**63 - 1)
_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
# Characters that PostgreSQL quotes in a row, that JSON escapes, that are blank in Unicode only, or beyond its first plane.
_AWKWARD = st.text(st.sampled_from("\"\\(),' \t\n\v\f\r\x1f\x7f\x85\xa0\u2028\u3000é字😀{}[]"), max_size=8)
_STRING = _TEXT | _AWKWARD
_NUMBER = (
    st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=5)
)
_JSON = st.recursive(
    st.none() | st.booleans() | _NUMBER | _STRING,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_STRING, inner, max_size=4),
    max_leaves=12,
)
_AT = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - Hypothesis wants them naive


@pytest.fixture(scope="module")
def connection(shared_database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(shared_database, autocommit=True) as opened:
        yield opened


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    fact=st.builds(
        Fact,
        thread=_UID,
        seq=st.integers(1, 2**31 - 1),
        type=_STRING,
        at=_AT,
        tenant=_UID,
        actor=_STRING,
        state=st.none() | st.sampled_from(State),
        revision=st.none() | st.integers(1, 2**31 - 1),
        queue_key=st.none() | _STRING,
        lease=st.none() | _UID,
        worker=st.none() | _UID,
        data=st.none() | st.dictionaries(_STRING, _JSON, max_size=4),
        idempotency_key=st.none() | _STRING,
        payload_hash=st.none() | st.binary(max_size=32),
        correlation_id=st.none() | _STRING,
        causation_id=st.none() | _UID,
        trace_id=st.none() | _STRING,
    ),
    previous=st.binary(max_size=32),
)
def test_sql_hashes_a_fact_as_python_does(connection: psycopg.Connection[Any], fact: Fact, previous: bytes) -> None:
    data = canonical_json(fact.data) if fact.data is not None else None
    row = connection.execute(
        """select tenure.fact_hash(%s::bytea, %s::bigint, %s::int, %s::timestamptz, %s::bigint, %s::int, %s::bigint,
            %s::bigint, %s::text, %s::text, %s::text::tenure.state, %s::text, %s::text, %s::bytea, %s::text, %s::bigint,
            %s::text, %s::jsonb)""",
        [
            previous, fact.thread, fact.seq, fact.at, fact.tenant, fact.revision, fact.lease, fact.worker, fact.type,
            fact.actor, str(fact.state) if fact.state else None, fact.queue_key, fact.idempotency_key,
            fact.payload_hash, fact.correlation_id, fact.causation_id, fact.trace_id, data,
        ],
    ).fetchone()  # fmt: skip
    assert row is not None
    assert bytes(row[0]) == fact.content_hash(previous)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(value=_JSON)
def test_canonical_json_is_the_text_of_jsonb(connection: psycopg.Connection[Any], value: Any) -> None:
    text = canonical_json(value)
    row = connection.execute("select %s::jsonb::text", [text]).fetchone()
    assert row == (text,)
    assert canonical_json(json.loads(text, parse_float=Decimal)) == text


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(uid=_UID, prefix=st.sampled_from(["SX", "LX", "RX", "QX", "WX", "HX", "DX", "TX", "PX"]))
def test_sql_shows_a_uid_as_python_does(connection: psycopg.Connection[Any], uid: int, prefix: str) -> None:
    assert connection.execute("select tenure.euid(%s, %s)", [prefix, uid]).fetchone() == (
        euid.format_euid(prefix, uid),
    )


@pytest.mark.parametrize(
    "text", ['say "no"', "a,b", "(c)", "back\\slash", "tab\there", "line\nbreak", "\xa0", "字", "😀", "it's"]
)
def test_awkward_text_in_every_place_of_a_fact_is_chained_alike(lab: Lab, text: str) -> None:
    """Texts that a user may give: actor, keys, references, reasons, codes; through each statement that hashes."""
    lab.caller = lab.caller.acting_as(f"user:{text}")
    key = text.translate({9: " ", 10: " "})
    lab.submit(correlation_id=key, idempotency_key=key, site=text, properties={text: text})
    two = lab.submit(name="two")
    item, other = lab.claim(2)
    lab.renew_all([item])
    lab.renew(other, idempotency_key=key)
    lab.complete(item, result={text: text})
    lab.fail(other, error_code=key, error_message=text)
    lab.hold(two, reason=f"x{text}x", idempotency_key=key)
    lab.release_hold(two, reason=f"x{text}x")
    lab.cancel(two, reason=f"x{text}x")
    report = lab.verified()
    assert report.first == {}
    lengths = lab.sql("select sum(seq)::int from tenure.execution")[0][0]
    assert report.facts == len(["tenant", "template", "template", "queue", "worker"]) + lengths
