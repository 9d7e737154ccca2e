"""The facts of runs: registered, small, and free of what a fact may not carry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.flow.model.facts import TYPES, ItemEnd, RunFact, RunnableApplied, in_portions
from tenure.model.errors import PayloadTooLarge
from tenure.model.fact import FORBIDDEN_KEYS, MAX_DATA_BYTES, check_data
from tenure.model.fact_types import REGISTRY
from tenure.model.json_text import canonical_json


def test_every_fact_of_a_run_is_registered_with_its_action() -> None:
    registered = {name: entry.action for name, entry in REGISTRY.items() if name.startswith("run.")}
    assert registered == {name: model.ACTION for name, model in TYPES.items()}


@pytest.mark.parametrize("model", TYPES.values(), ids=lambda m: m.TYPE)
def test_no_fact_of_a_run_has_a_key_that_facts_may_not_carry(model: type[RunFact]) -> None:
    def keys(schema: object) -> set[str]:
        if isinstance(schema, dict):
            own = set(schema.get("properties", {}))
            return own.union(*(keys(inner) for inner in schema.values()))
        return set().union(*(keys(inner) for inner in schema)) if isinstance(schema, list) else set()

    assert not keys(model.model_json_schema()) & FORBIDDEN_KEYS


refs = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=200)
ends = st.builds(ItemEnd, index=st.integers(0, 99_999), outcome=st.just("ok"), ref=refs)


@given(st.lists(ends, max_size=300))
def test_what_is_split_fits_and_is_whole(told: list[ItemEnd]) -> None:
    portions = list(in_portions(told))
    assert [end for portion in portions for end in portion] == told
    for portion in portions:
        data = RunnableApplied(step="s" * 64, iteration=999_999, items=portion).model_dump(
            mode="json", exclude_defaults=True
        )
        assert len(canonical_json(data).encode()) <= MAX_DATA_BYTES


def test_a_fact_that_is_too_large_is_refused() -> None:
    many = [ItemEnd(index=index, outcome="ok", ref="record:123456789") for index in range(1000)]
    fact = RunnableApplied(step="m", items=many)
    assert not fact.fits
    with pytest.raises(PayloadTooLarge):
        fact.draft()


def test_what_is_said_to_fit_does() -> None:
    # The shortest entries, for which the blanks of canonical JSON weigh most.
    fact = RunnableApplied(step="m", items=[ItemEnd(index=0, outcome="ok")] * 190, routes=list(range(10)) * 5)
    assert fact.fits
    check_data(fact.model_dump(mode="json", exclude_defaults=True))
