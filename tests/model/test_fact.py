"""Facts: what is hashed, and what they may carry (design 01, Facts; S4 sections 4.1 and 4.3)."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.model.errors import ForbiddenKey, PayloadTooLarge
from tenure.model.fact import FORBIDDEN_KEYS, MAX_DATA_BYTES, Fact, check_data
from tenure.model.json_text import canonical_json
from tenure.model.states import State

FACT = Fact(
    thread=1024, seq=3, type="lease.claimed", at=datetime(2026, 1, 5, 12, 0, 0, 250_000, tzinfo=UTC), tenant=1026,
    actor="worker, one", state=State.READY, revision=2, queue_key="q", lease=1028, worker=1030,
    data={"ttl": 60, "started": False}, idempotency_key="k", payload_hash=b"\x01" * 32, correlation_id="order 7",
    causation_id=5, trace_id="ab",
)  # fmt: skip

#: Each field that is hashed, with another value.
OTHERWISE: dict[str, Any] = {
    "thread": 1025,
    "seq": 4,
    "type": "lease.claimed2",
    "at": FACT.at + timedelta(microseconds=1),
    "tenant": 1027,
    "actor": "worker,one",
    "state": State.RUNNING,
    "revision": 3,
    "queue_key": None,
    "lease": 1030,
    "worker": 1028,
    "data": {"ttl": 60, "started": True},
    "idempotency_key": "",
    "payload_hash": None,
    "correlation_id": "order 8",
    "causation_id": 6,
    "trace_id": "abc",
}


def test_the_hash_is_over_the_previous_hash_and_the_canonical_content() -> None:
    # Written out by hand: the bytes of PostgreSQL's int8send, int4send, timestamptz_send and of a row as text.
    fixed = bytes.fromhex(
        "0000000000000400000000030002eaa19135609000000000000004020000000200000000000004040000000000000406"
    )
    row = (
        b'(lease.claimed,"worker, one",READY,q,k,' + b"01" * 32 + b',"order 7",5,ab,'
        b'"{""ttl"": 60, ""started"": false}")'
    )
    assert FACT.content_hash(b"previous") == hashlib.sha256(b"previous" + fixed + row).digest()


def test_the_hash_does_not_change_between_versions() -> None:
    assert FACT.content_hash(b"").hex() == "8ae65eb6f38693936cba8c05a1d9bd7a196164b3e1232dc3e37bfea8b4911d3b"


@pytest.mark.parametrize("name", OTHERWISE)
def test_any_change_of_the_content_changes_the_hash(name: str) -> None:
    assert replace(FACT, **{name: OTHERWISE[name]}).content_hash(b"") != FACT.content_hash(b"")


def test_every_field_but_hash_and_position_is_hashed() -> None:
    assert set(OTHERWISE) == set(Fact.__dataclass_fields__) - {"hash", "position"}


def test_another_predecessor_changes_the_hash() -> None:
    assert FACT.content_hash(b"x") != FACT.content_hash(b"y")


def test_position_is_no_part_of_a_fact() -> None:
    assert replace(FACT, position=7) == FACT
    assert replace(FACT, position=7).content_hash(b"") == FACT.content_hash(b"")


texts = st.none() | st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=6)


@given(st.tuples(texts, texts), st.tuples(texts, texts))
def test_text_cannot_move_between_fields(one: Any, two: Any) -> None:
    hashes = {replace(FACT, queue_key=a, idempotency_key=b).content_hash(b"") for a, b in (one, two)}
    assert len(hashes) == len({one, two})


@pytest.mark.parametrize(
    ("actor", "printed"),
    [
        ("plain", "plain"),
        ("", '""'),
        ("two words", '"two words"'),
        ("tab\there", '"tab\there"'),
        ("vertical\x0btab", '"vertical\x0btab"'),
        ('say "so"', '"say ""so"""'),
        ("back\\slash", '"back\\\\slash"'),
        ("a,b", '"a,b"'),
        ("(a)", '"(a)"'),
        # PostgreSQL quotes for no blank but its own six.
        ("no\u00a0break", "no\u00a0break"),
        ("ideographic\u3000space", "ideographic\u3000space"),
        ("file\x1cseparator", "file\x1cseparator"),
        ("next\x85line", "next\x85line"),
    ],
)
def test_text_is_quoted_as_postgresql_quotes_it_in_a_row(actor: str, printed: str) -> None:
    bare = Fact(thread=0, seq=0, type="t", at=datetime(2000, 1, 1, tzinfo=UTC), tenant=0, actor=actor)
    expected = hashlib.sha256(bytes(48) + f"(t,{printed},,,,,,,,)".encode()).digest()
    assert bare.content_hash(b"") == expected


# What a fact may carry --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("key", sorted(FORBIDDEN_KEYS))
@pytest.mark.parametrize(
    "wrap", [lambda d: d, lambda d: {"a": {"b": d}}, lambda d: {"a": [1, [d]]}, lambda d: {"a": (d,)}]
)
def test_content_is_refused_at_any_depth(key: str, wrap: Any) -> None:
    with pytest.raises(ForbiddenKey) as refused:
        check_data(wrap({"fine": 1, key: "x"}))
    assert refused.value.evidence == {"key": key}


def test_the_forbidden_keys_are_those_of_the_law() -> None:
    assert {
        "body", "content", "raw", "vector", "embedding", "secret", "token", "password", "ssn", "personal_data",
    } == FORBIDDEN_KEYS  # fmt: skip


def test_content_is_refused_however_it_is_written() -> None:
    with pytest.raises(ForbiddenKey):
        check_data({"PassWord": "x"})


def test_the_same_words_are_fine_as_values_and_within_other_keys() -> None:
    check_data({"reason": "token", "token_kind": "lease", "list": ["body", {"contents": "raw"}]})


def test_nothing_is_fine() -> None:
    check_data(None)
    check_data({})


def test_ten_kibibytes_fit_and_one_byte_more_does_not() -> None:
    room = MAX_DATA_BYTES - len(canonical_json({"x": ""}))
    assert MAX_DATA_BYTES == 10_240
    check_data({"x": "é" * (room // 2) + "a" * (room % 2)})
    with pytest.raises(PayloadTooLarge) as refused:
        check_data({"x": "é" * (room // 2) + "a" * (room % 2 + 1)})
    assert refused.value.evidence == {"size": 10_241}
