"""What an event starts."""

from __future__ import annotations

import pytest

from tenure.flow.model.builder import Workflow, when
from tenure.flow.model.definition import Trigger
from tenure.flow.model.mapping import MappingFailed
from tenure.flow.model.triggering import fits, input_of


def trigger(**more: object) -> Trigger:
    flow = Workflow("w", queue="q").task("a").trigger("t", "event", event="specimen.received", **more)
    return flow.define().triggers[0]


def test_an_event_fits_by_type_and_conditions() -> None:
    urgent = trigger(when=[when("$.event.priority", "ge", 5)])
    assert fits(urgent, "specimen.received", {"priority": 7})
    assert not fits(urgent, "specimen.received", {"priority": 1})
    assert not fits(urgent, "specimen.received", None)
    assert not fits(urgent, "specimen.lost", {"priority": 7})


def test_what_somebody_starts_is_started_by_no_event() -> None:
    assert not fits(Workflow("w").log("a", "m").trigger("t").define().triggers[0], "specimen.received", {})


def test_the_event_is_the_input_or_is_mapped_to_it() -> None:
    assert input_of(trigger(), {"id": 5}) == {"id": 5}
    assert input_of(trigger(input={"specimen": "$.event.id", "note": "$.event.note?"}), {"id": 5}) == {
        "specimen": 5,
        "note": None,
    }
    with pytest.raises(MappingFailed):
        input_of(trigger(input="$.event.id"), {})
