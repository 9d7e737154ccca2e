"""EUIDs (design 01, Identity)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.model.errors import InvalidEuid
from tenure.model.euid import ALPHABET, format_euid, parse_euid

uids = st.integers(1, 2**63 - 1)


@given(uids, st.sampled_from(["SX", "LX", "X-Y", ""]))
def test_an_euid_leads_back_to_its_uid_whatever_the_prefix(uid: int, prefix: str) -> None:
    assert parse_euid(format_euid(prefix, uid)) == uid


@given(uids)
def test_every_mistyped_character_is_refused(uid: int) -> None:
    body = format_euid("SX", uid)[3:]
    for place, right in enumerate(body):
        for wrong in ALPHABET.replace(right, ""):
            with pytest.raises(InvalidEuid):
                parse_euid("SX-" + body[:place] + wrong + body[place + 1 :])


@given(uids)
def test_every_swap_of_two_neighbours_is_refused(uid: int) -> None:
    body = format_euid("SX", uid)[3:]
    for place in range(len(body) - 1):
        one, two = body[place : place + 2]
        if one != two:
            with pytest.raises(InvalidEuid):
                parse_euid("SX-" + body[:place] + two + one + body[place + 2 :])


@pytest.mark.parametrize(
    ("uid", "euid"), [(1, "SX-12"), (31, "SX-ZV"), (32, "SX-104"), (1024, "SX-1008"), (2**63 - 1, "SX-7ZZZZZZZZZZZZ6")]
)
def test_labels_that_were_printed_stay_valid(uid: int, euid: str) -> None:
    assert format_euid("SX", uid) == euid
    assert parse_euid(euid) == uid


@pytest.mark.parametrize("typed", ["sx-1008", " SX-1008 ", "SX-1OO8", "SX-I008", "SX-L008", "anything-1008", "-1008"])
def test_labels_may_be_typed_carelessly(typed: str) -> None:
    assert parse_euid(typed) == 1024


@pytest.mark.parametrize(
    "text",
    ["", "SX", "SX-", "SX-1", "1008", "SX-10U8", "SX-10*8", "SX-1008-", "SX-0" + "0" * 15, "SX-00", "SX-" + "Z" * 14],
)
def test_what_is_no_euid_is_refused_with_advice(text: str) -> None:
    with pytest.raises(InvalidEuid) as refused:
        parse_euid(text)
    assert refused.value.hint


def test_a_number_is_no_euid() -> None:
    with pytest.raises(InvalidEuid, match="text, not int"):
        parse_euid(1024)  # type: ignore[arg-type]


def test_a_wrong_check_character_says_so() -> None:
    with pytest.raises(InvalidEuid, match="wrong check character"):
        parse_euid("SX-1009")


def test_what_no_object_can_have_is_out_of_range() -> None:
    with pytest.raises(InvalidEuid, match="out of range"):
        parse_euid("SX-00")


def test_zero_has_a_label_although_no_object_has_it() -> None:
    assert format_euid("SX", 0) == "SX-00"


@pytest.mark.parametrize("digits", [13, 14])
def test_leading_zeros_do_no_harm_up_to_the_length_of_a_label(digits: int) -> None:
    assert parse_euid("SX-" + "1008".rjust(digits + 1, "0")) == 1024


def test_a_label_that_is_too_long_is_none() -> None:
    with pytest.raises(InvalidEuid, match="is not an EUID"):
        parse_euid("SX-" + "1008".rjust(16, "0"))


def test_one_more_than_the_greatest_uid_is_out_of_range() -> None:
    with pytest.raises(InvalidEuid, match="out of range"):
        parse_euid(format_euid("SX", 2**63))
