"""Conditions never fail; what cannot be compared is false."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tenure.flow.model.condition import Condition
from tenure.flow.model.paths import MISSING, Path, walk

#: Without dollar signs: what begins with one is a path, and a definition whose path is none is refused.
words = st.text(st.characters(codec="utf-8", exclude_characters="$"), max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


def holds(left: Any, op: Any, right: Any = None) -> bool:
    def lookup(path: Path) -> Any:
        return walk({"left": left, "right": right}, path.parts)

    return Condition(path="$.input.left", op=op, value=right).holds(lookup)


@pytest.mark.parametrize(
    ("left", "op", "right", "is_true"),
    [
        (1, "eq", 1.0, True), (1, "eq", True, False), (True, "eq", True, True), ("a", "eq", "a", True),
        ([1, {"a": None}], "eq", [1, {"a": None}], True), ({"a": 1}, "eq", {"a": True}, False), (None, "eq", None, True),
        (1, "ne", 2, True), ("a", "ne", "a", False),
        (1, "lt", 2, True), (2, "lt", 2, False), ("a", "lt", "b", True), (1, "lt", "2", False), (True, "lt", 2, False),
        (2, "le", 2, True), (3, "le", 2, False), (3, "gt", 2, True), (2, "gt", 2, False), (2, "ge", 2, True), (1, "ge", 2, False),
        ([1], "lt", [2], False), (None, "lt", 1, False),
        ("a", "in", ["a", "b"], True), ("c", "in", ["a", "b"], False), (1, "in", [True], False),
        ("a", "not_in", ["a"], False), ("c", "not_in", ["a"], True),
        ("abc", "contains", "b", True), ("abc", "contains", 1, False), ([1, 2], "contains", 2, True),
        ({"k": 1}, "contains", "k", True), ({"k": 1}, "contains", 1, False), (5, "contains", 5, False),
        ("abc", "starts_with", "ab", True), ("abc", "starts_with", "b", False), (["a"], "starts_with", "a", False),
        ("abc", "matches", "^a.c$", True), ("abd", "matches", "c", False), (5, "matches", "5", False),
        (None, "exists", None, True), (None, "missing", None, False),
    ],
)  # fmt: skip
def test_operators(left: Any, op: str, right: Any, is_true: bool) -> None:
    assert holds(left, op, right) is is_true


@pytest.mark.parametrize(
    ("op", "is_true"),
    [
        ("exists", False),
        ("missing", True),
        ("eq", False),
        ("ne", True),
        ("lt", False),
        ("not_in", True),
        ("contains", False),
    ],
)
def test_what_is_not_there(op: str, is_true: bool) -> None:
    value = {"not_in": [1], "exists": None, "missing": None}.get(op, 1)
    assert Condition(path="$.input.z", op=op, value=value).holds(lambda path: MISSING) is is_true


def test_a_path_alone_asks_for_existence_and_with_a_value_for_equality() -> None:
    assert Condition.model_validate({"path": "$.input"}).op == "exists"
    assert Condition.model_validate({"path": "$.input", "value": None}).op == "eq"
    assert Condition.model_validate({"path": "$.input", "value": 1}).op == "eq"


def test_a_value_may_be_data_itself() -> None:
    condition = Condition(path="$.input.left", op="gt", value="$.input.right")
    assert condition.holds(lambda path: {"left": 3, "right": 2}[path.parts[0]])
    assert not condition.holds(lambda path: 3 if path.parts[0] == "left" else MISSING)


@given(values, st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge", "contains", "starts_with"]), values)
def test_a_condition_never_fails(left: Any, op: str, right: Any) -> None:
    assert holds(left, op, right) in (True, False)


@given(values, values)
def test_equality_is_symmetric_and_inequality_its_opposite(left: Any, right: Any) -> None:
    assert holds(left, "eq", right) == holds(right, "eq", left) == (not holds(left, "ne", right))
    assert holds(left, "eq", left)


@pytest.mark.parametrize(
    "wrong",
    [
        {"op": "exists", "value": 1}, {"op": "in", "value": 5}, {"op": "matches", "value": "("}, {"op": "matches", "value": 5},
        {"op": "matches", "value": "a" * 201}, {"op": "like"}, {"more": 1},
    ],
)  # fmt: skip
def test_what_is_no_condition(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Condition.model_validate({"path": "$.input"} | wrong)
