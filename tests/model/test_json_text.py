"""The text form of JSON that is hashed: that of PostgreSQL's jsonb."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.model.errors import InvalidPayload
from tenure.model.json_text import canonical_json, from_instant, instant, payload_hash

text = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
json_values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=20)


def exactly(document: str) -> Any:
    """What a document says, numbers to the last digit."""
    return json.loads(document, parse_int=Decimal, parse_float=Decimal)


@given(json_values)
def test_the_text_is_json_of_the_same_value(value: Any) -> None:
    assert exactly(canonical_json(value)) == exactly(json.dumps(value))


@given(st.dictionaries(text, scalars, min_size=2))
def test_the_order_in_which_keys_were_given_does_not_matter(value: dict[str, Any]) -> None:
    turned = dict(reversed(value.items()))
    assert canonical_json(turned) == canonical_json(value)


@given(json_values, json_values)
def test_different_values_have_different_text(one: Any, two: Any) -> None:
    if exactly(json.dumps(one)) != exactly(json.dumps(two)):
        assert canonical_json(one) != canonical_json(two)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # As printed by select '...'::jsonb::text.
        ({"bb": 1, "a": 2, "c": 3, "ä": 4}, '{"a": 2, "c": 3, "bb": 1, "ä": 4}'),
        ({}, "{}"),
        ([], "[]"),
        ([1, [2, {"x": None}]], '[1, [2, {"x": null}]]'),
        (True, "true"),
        (False, "false"),
        (1, "1"),
        (1.0, "1.0"),
        (-0.0, "0.0"),
        (1e20, "100000000000000000000"),
        (1e-7, "0.0000001"),
        (1.5e300, "15" + "0" * 299),
        (Decimal("1.50"), "1.50"),
        ('"\\/\b\f\n\r\t\x01\x7f\u2028é', '"\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7f\u2028é"'),
        ((1, 2), "[1, 2]"),
    ],
)
def test_the_text_is_the_one_that_postgresql_prints(value: Any, expected: str) -> None:
    assert canonical_json(value) == expected


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (math.nan, "nan is not a JSON number"),
        (math.inf, "inf is not a JSON number"),
        ("a\x00b", "NUL"),
        ({"a\x00b": 1}, "NUL"),
        ("\udc80", "surrogate"),
        ({1: 2}, "not text"),
        (datetime(2026, 1, 1, tzinfo=UTC), "datetime cannot"),
        ({"x": [b"bytes"]}, "bytes cannot"),
        ({1, 2}, "set cannot"),
    ],
)
def test_what_json_cannot_hold_is_refused(value: Any, complaint: str) -> None:
    with pytest.raises(InvalidPayload, match=complaint):
        canonical_json(value)


def test_equal_payloads_have_the_same_hash() -> None:
    assert payload_hash({"a": 1, "b": [2]}) == payload_hash({"b": [2], "a": 1})


def test_the_hash_of_a_payload_does_not_change_between_versions() -> None:
    assert payload_hash({"a": 1}).hex() == "f9d86028c6e0d64e225186f96acb69338b2c59764df79162107f5c4bb34d1310"


def test_instants_are_utc_with_microseconds() -> None:
    somewhere = datetime(2026, 1, 5, 14, tzinfo=timezone(timedelta(hours=2)))
    assert instant(somewhere) == "2026-01-05T12:00:00.000000+00:00"


@given(st.datetimes(timezones=st.just(UTC)))
def test_an_instant_leads_back_to_its_time(time: datetime) -> None:
    assert from_instant(instant(time)) == time


def test_no_instant_is_no_time() -> None:
    assert from_instant(None) is None
