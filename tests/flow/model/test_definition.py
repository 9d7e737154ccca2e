"""Definitions are data: written in Python, TOML or JSON they are the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.flow.model.builder import Workflow, to, when
from tenure.flow.model.errors import InvalidDefinition
from tenure.flow.model.names import Runnable, parse_runnable
from tenure.flow.model.reading import from_data, from_json, from_toml

TOML = """
name = "order"
queue = "shop"
deadline = "7d"
input_schema = { type = "object", required = ["amount"] }

[[steps]]
name = "reserve"
performer = "task"
compensate_with = "restock"

[[steps]]
name = "charge"
performer = "task"
after = ["reserve"]
input = { amount = "$.input.amount" }
recovery = "irreversible"
routes = [{ to = "check", when = { path = "$.outputs.charge.risk", op = "gt", value = 0.5 } }, "ship"]

[[steps]]
name = "check"
performer = "approval"
on_ok = "ship"
deadline = 86400

[[steps]]
name = "ship"
performer = "task"

[[steps]]
name = "restock"
performer = "task"
"""


def in_python() -> Workflow:
    return (
        Workflow("order", queue="shop", deadline="7d", input_schema={"required": ["amount"], "type": "object"})
        .task("reserve", compensate_with="restock")
        .task("charge", after="reserve", input={"amount": "$.input.amount"}, recovery="irreversible",
              routes=[to("check", when("$.outputs.charge.risk", "gt", 0.5)), "ship"])
        .approval("check", on_ok="ship", deadline="1d")
        .task("ship").task("restock")
    )  # fmt: skip


def test_equal_definitions_written_differently_have_equal_fingerprints() -> None:
    python, toml = in_python().define(), from_toml(TOML)
    as_json = from_json(json.dumps(toml.canonical()))
    whole = from_json(toml.model_dump_json())
    assert python == toml == as_json == whole
    assert python.fingerprint == toml.fingerprint == as_json.fingerprint == whole.fingerprint
    assert len(python.fingerprint) == 64


def test_the_fingerprint_is_kept_from_release_to_release() -> None:
    # Runs name it: were it to change for the same text, every running workflow would seem to have drifted.
    assert from_toml(TOML).fingerprint == "60b2f81011b419b61cad90a04b1c0eb7ab55ee93c0f4600c8f10bb55b528a44e"


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"queue": "other"}, {"deadline": 1}, {"output": "$.outputs.reserve"}, {"description": "d"}],
)
def test_another_definition_has_another_fingerprint(change: dict[str, Any]) -> None:
    base = in_python().as_data()
    assert from_data(base | change).fingerprint != from_data(base).fingerprint


def test_the_order_of_what_is_joined_means_nothing() -> None:
    def joined(after: list[str]) -> str:
        return Workflow("j", queue="q").task("a").task("b").task("c", after=after).define().fingerprint

    assert joined(["a", "b"]) == joined(["b", "a"]) == joined(["b", "a", "b"])


def test_a_definition_is_immutable() -> None:
    definition = in_python().define()
    with pytest.raises(Exception, match="frozen"):
        definition.name = "x"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("15m", 900), ("2h", 7200), ("7d", 604800), ("1.5 h", 5400), (5, 5), ("1w", 604800)]
)  # fmt: skip
def test_durations(text: Any, seconds: float) -> None:
    assert Workflow("d").wait("w", duration=text).define().steps[0].duration == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5", "5 y", "0s", 0, -1, float("inf"), "1e3s", None])
def test_what_is_no_duration(text: Any) -> None:
    with pytest.raises(InvalidDefinition):
        Workflow("d").wait("w", duration=text).define()


def test_times_of_toml_are_text() -> None:
    definition = from_toml('name = "w"\n[[steps]]\nname = "a"\nperformer = "wait"\nuntil = 2026-01-01T00:00:00Z\n')
    assert definition.steps[0].until == "2026-01-01T00:00:00+00:00"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
#: What a value of a definition may be replaced by.
OTHERS = [None, 0, -1, "", "x", "$.x", "ship", "$.outputs.ship", [], {}, [[]], True, "charge"]


@given(anything)
def test_any_data_is_a_definition_or_refused_with_problems(raw: Any) -> None:
    try:
        from_data(raw)
    except InvalidDefinition as error:
        assert error.evidence["problems"]


@given(st.text())
def test_any_text_is_a_definition_or_refused_with_problems(text: str) -> None:
    for read in (from_json, from_toml):
        try:
            read(text)
        except InvalidDefinition as error:
            assert error.evidence["problems"]


@given(st.data())
def test_a_definition_with_something_replaced_is_right_or_refused(data: st.DataObject) -> None:
    raw = json.loads(json.dumps(in_python().define().canonical()))
    place: Any = raw
    for _ in range(data.draw(st.integers(1, 5))):
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            place[key] = data.draw(
                st.sampled_from([None, 0, -1, "", "x", "$.x", "ship", "$.outputs.ship", [], {}, [[]], True, "charge"])
            )
            break
        place = place[key]
    try:
        from_data(raw)
    except InvalidDefinition as error:
        assert all(problem["code"] and problem["message"] for problem in error.evidence["problems"])


@given(
    st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,20}", fullmatch=True),
    st.integers(1, 10**6),
    st.none() | st.integers(0, 10**6),
)
def test_a_runnable_key_is_read_as_it_was_written(name: str, iteration: int, index: int | None) -> None:
    assert parse_runnable(str(Runnable(name, iteration, index))) == Runnable(name, iteration, index)


@pytest.mark.parametrize("key", ["", "a#0", "a#", "a[", "a[-1]", "#2", "a b", None, 5, "a#2[1]", "ä"])
def test_what_is_no_runnable_key(key: Any) -> None:
    assert parse_runnable(key) is None
