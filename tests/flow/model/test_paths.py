"""The path language: what is a path, what is none, and what paths find."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.flow.model.mapping import MappingFailed, evaluate, paths_in, problems_in
from tenure.flow.model.paths import KEYED, MISSING, ROOTS, RUN_FIELDS, Path, PathError, is_path, parse_path, walk

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,8}", fullmatch=True)
keys = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
parts = st.lists(st.one_of(names, keys, st.integers(0, 999_999_999)), max_size=5)


@st.composite
def paths(draw: st.DrawFn) -> Path:
    root = draw(st.sampled_from(ROOTS))
    if root == "run":
        return Path(root, (draw(st.sampled_from(RUN_FIELDS)),), draw(st.booleans()))
    inner = draw(parts) if root != "index" else []
    if root in KEYED:
        inner = [draw(names), *inner]
    return Path(root, tuple(inner), draw(st.booleans()))


@given(paths())
def test_what_is_written_is_read_as_the_same_path(path: Path) -> None:
    assert parse_path(str(path)) == path


@given(st.text(max_size=40))
def test_any_text_is_a_path_or_a_path_error_with_a_place(text: str) -> None:
    try:
        parse_path(text)
    except PathError as error:
        assert 0 <= error.at <= len(text)


@given(paths(), st.data())
def test_a_path_with_one_character_changed_is_a_path_or_an_error_at_a_place(path: Path, data: st.DataObject) -> None:
    text = str(path)
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + data.draw(st.sampled_from(list('$.[]"?a0 \\'))) + text[at + 1 :]
    try:
        assert parse_path(str(parse_path(changed))) == parse_path(changed)
    except PathError as error:
        assert 0 <= error.at <= len(changed)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("", 0), ("x", 1), ("$", 1), ("$.", 2), ("$.nothing", 2), ("$.input.", 8), ("$.input..a", 8), ("$.input[", 7),
        ("$.input[01]", 7), ("$.input[-1]", 7), ("$.input['a']", 7), ("$.input?.a", 7), ("$.outputs", 9), ("$.outputs[0]", 9),
        ("$.run.secret", 6), ("$.index.a", 7), ('$.input["\\x"]', 8), ("$.input " + "x", 7), ("$.input.a b", 9),
    ],
)  # fmt: skip
def test_an_error_tells_the_place(text: str, at: int) -> None:
    with pytest.raises(PathError) as caught:
        parse_path(text)
    assert caught.value.at == at
    assert str(caught.value).endswith(f"at character {at + 1}")


def test_what_is_too_long_is_no_path() -> None:
    with pytest.raises(PathError):
        parse_path("$.input" + ".a" * 300)


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ((), {"a": [{"b": 0}], "": 1}), (("a", 0, "b"), 0), (("",), 1), (("a", 1), MISSING), (("a", "0"), MISSING),
        ((0,), MISSING), (("a", 0, "b", "c"), MISSING), (("z",), MISSING),
    ],
)  # fmt: skip
def test_what_paths_lead_to(parts: tuple[str | int, ...], found: object) -> None:
    assert walk({"a": [{"b": 0}], "": 1}, parts) == found


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def quoted(value: object) -> object:
    """A value written so that a mapping means just it."""
    if isinstance(value, str):
        return f"${value}" if value.startswith("$") else value
    if isinstance(value, list):
        return [quoted(one) for one in value]
    return {key: quoted(one) for key, one in value.items()} if isinstance(value, dict) else value


@given(plain)
def test_every_value_can_be_written_as_a_literal(value: object) -> None:
    assert evaluate(quoted(value), lambda path: pytest.fail(f"{path} is no path")) == value
    assert list(paths_in(quoted(value))) == []


@given(plain)
def test_whatever_is_written_is_a_mapping_or_its_problems_are_told_with_their_place(value: object) -> None:
    bad = dict(problems_in(value, "input"))
    assert all(place.startswith("input") for place in bad)
    good = [text for _, text in texts(value) if is_path(text)]
    assert len(list(paths_in(value))) + len(list(problems_in(value, ""))) == len(good)


def texts(value: object) -> list[tuple[str, str]]:
    from tenure.flow.model.mapping import texts_in

    return list(texts_in(value))


def test_what_finds_nothing_says_which_path_and_where() -> None:
    with pytest.raises(MappingFailed) as caught:
        evaluate({"a": [1, {"b": "$.input.x"}]}, lambda path: MISSING)
    assert str(caught.value) == "$.input.x at input.a[1].b finds nothing"
    assert evaluate("$.input.x?", lambda path: MISSING) is None


def test_quoted_keys_are_those_of_json() -> None:
    path = parse_path('$.input["a b"]["\\u00e4\\n"]["x]"]')
    assert path.parts == ("a b", "ä\n", "x]")
    assert json.loads('"' + str(path).rpartition('["')[2].removesuffix('"]') + '"') == "x]"
