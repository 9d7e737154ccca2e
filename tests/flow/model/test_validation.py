"""Whole validation: every mistake has a code and names its step; what is right has none."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.errors import InvalidDefinition
from tenure.flow.model.reading import from_data, from_json, from_toml
from tenure.flow.model.validation import problems_of


def step(name: str, performer: str = "task", **more: Any) -> dict[str, Any]:
    return {"name": name, "performer": performer} | more


def flow(*steps: Any, **more: Any) -> dict[str, Any]:
    return {"name": "w", "queue": "q", "steps": list(steps)} | more


def found(raw: Any) -> list[tuple[str, str | None, str]]:
    """Code, step and place of every problem."""
    try:
        from_data(raw)
    except InvalidDefinition as error:
        assert error.code == "invalid_definition"
        problems = error.evidence["problems"]
        assert all(problem["message"] and not problem["message"].endswith(".") for problem in problems)
        return [(problem["code"], problem["step"], problem["place"]) for problem in problems]
    return []


IF = {"path": "$.outputs.a.x", "op": "eq", "value": 1}
ARMS = step("a", routes=[{"to": "x", "when": IF}, "y"])

WRONG: list[tuple[str, Any, list[tuple[str, str | None, str]]]] = [
    ("duplicate", flow(step("a"), step("a")), [("duplicate_step", "a", "name")]),
    ("reserved", flow(step("end")), [("reserved_name", "end", "name")]),
    ("triggers", flow(step("a"), triggers=[{"name": "t"}, {"name": "t"}]), [("duplicate_trigger", None, "triggers")]),
    ("after", flow(step("a", after="z")), [("unknown_step", "a", "after")]),
    ("route", flow(step("a", routes=["z"])), [("unknown_step", "a", "routes[0].to")]),
    ("on ok", flow(step("a", on_ok="z")), [("unknown_step", "a", "routes[0].to")]),
    ("on error", flow(step("a", on_error="z")), [("unknown_step", "a", "on_error[0].to")]),
    ("compensate", flow(step("a", compensate_with="z")), [("unknown_step", "a", "compensate_with")]),
    ("cycle", flow(step("r"), step("a", after=["b", "r"]), step("b", after="a")), [("cycle", "a", "")]),
    ("cycle of one", flow(step("r", on_ok="a"), step("a", on_ok="a")), [("cycle", "a", "")]),
    ("cycle by routes", flow(step("a", on_ok="b"), step("b", on_error="a")), [("cycle", "a", "")]),
    ("rework forward", flow(step("a", routes=[{"to": "b", "limit": 2}, "b"]), step("b")),
     [("rework_not_back", "a", "routes[0].limit")]),
    ("rework to the end", flow(step("a", routes=[{"to": "end", "limit": 2}])), [("rework_not_back", "a", "routes[0].limit")]),
    ("rework and fan out", flow(step("a", fan_out=True, routes=[{"to": "a", "limit": 2}, "b"]), step("b")),
     [("fan_out_rework", "a", "routes[0].limit")]),
    ("two fallbacks", flow(step("a", routes=["b", "c"]), step("b"), step("c")), [("two_fallbacks", "a", "routes[1]")]),
    ("fallback and on ok", flow(step("a", routes=["b"], on_ok="c"), step("b"), step("c")), [("two_fallbacks", "a", "routes[1]")]),
    ("join of both arms", flow(ARMS, step("x"), step("y"), step("j", after=["x", "y"])), [("join_never_completes", "j", "after")]),
    ("join behind both arms", flow(ARMS, step("x"), step("x2", after="x"), step("y"), step("j", after=["x2", "y"])),
     [("join_never_completes", "j", "after")]),
    ("join of success and failure", flow(step("a", on_error="h"), step("b", after="a"), step("h"), step("j", after=["b", "h"])),
     [("join_never_completes", "j", "after")]),
    ("joins across two decisions", flow(ARMS, step("x", after="b"), step("y"), step("b"), step("j", after=["x", "y"])),
     [("join_never_completes", "j", "after")]),
    ("behind a join that never completes", flow(ARMS, step("x"), step("y"), step("j", after=["x", "y"]), step("k", after="j")),
     [("join_never_completes", "j", "after"), ("unreachable_step", "k", "after")]),
    ("nothing begins", flow(step("a", compensate_with="b"), step("b", compensate_with="a")),
     [("compensation_loop", "b", "compensate_with"), ("compensation_loop", "a", "compensate_with"),
      ("no_first_step", None, "steps")]),
    ("compensation missing", flow(step("a", recovery="compensatable")), [("compensation_missing", "a", "compensate_with")]),
    ("compensation unused", flow(step("a", recovery="irreversible", compensate_with="u"), step("u")),
     [("compensation_unused", "a", "compensate_with")]),
    ("compensation in the flow", flow(step("a", compensate_with="u", on_ok="u"), step("u")), [("compensation_in_flow", "u", "")]),
    ("compensation after", flow(step("a", compensate_with="u"), step("u", after="a")), [("compensation_in_flow", "u", "")]),
    ("compensation shared", flow(step("a", compensate_with="u"), step("b", compensate_with="u"), step("u")),
     [("compensation_shared", "u", "")]),
    ("compensation of compensation", flow(step("a", compensate_with="u"), step("u", compensate_with="v"), step("v")),
     [("compensation_loop", "u", "compensate_with")]),
    ("compensation by a log", flow(step("a", compensate_with="u"), step("u", "log", message="m")),
     [("compensation_performer", "u", "performer")]),
    ("queue", {"name": "w", "steps": [step("a")]}, [("missing_queue", "a", "queue")]),
    ("queue of items", {"name": "w", "steps": [step("a", "map", over=[], each={"performer": "task"})]},
     [("missing_queue", "a", "each.queue")]),
    ("wait for nothing", flow(step("a", "wait")), [("wait_needs_one", "a", "")]),
    ("wait for two", flow(step("a", "wait", duration=1, signal="s")), [("wait_needs_one", "a", "signal")]),
    ("wait until when", flow(step("a", "wait", until="tomorrow")), [("bad_time", "a", "until")]),
    ("wait without zone", flow(step("a", "wait", until="2026-01-01T00:00:00")), [("bad_time", "a", "until")]),
    ("map over a number", flow(step("a", "map", over=5, each={"performer": "task"})), [("map_over_no_list", "a", "over")]),
    ("map over text", flow(step("a", "map", over="abc", each={"performer": "task"})), [("map_over_no_list", "a", "over")]),
    ("map tolerates twice", flow(step("a", "map", over=[], each={"performer": "task"}, tolerate=1, tolerate_share=0.1)),
     [("two_tolerances", "a", "tolerate_share")]),
    ("schema type", flow(step("a"), input_schema={"type": "text"}), [("bad_schema", None, "input_schema")]),
    ("schema inside", flow(step("a"), input_schema={"properties": {"a": {"items": {"type": 5}}}}),
     [("bad_schema", None, "input_schema")]),
    ("schema required", flow(step("a"), input_schema={"required": "a"}), [("bad_schema", None, "input_schema")]),
    ("schema properties", flow(step("a"), input_schema={"properties": ["a"]}), [("bad_schema", None, "input_schema")]),
    ("path", flow(step("a", input={"x": ["$.input", "$.inputs"]})), [("bad_path", "a", "input.x[1]")]),
    ("path of a condition", flow(step("a", routes=[{"to": "end", "when": {"path": "x"}}])),
     [("bad_path", "a", "routes[0].when[0].path")]),
    ("value of a condition", flow(step("a", routes=[{"to": "end", "when": {"path": "$.input", "value": {"v": "$"}}}])),
     [("bad_path", "a", "routes[0].when[0].value")]),
    ("nested too deep", flow(step("a", input=[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]])), [("bad_value", "a", "input")]),
    ("not JSON", flow(step("a", input={"x": {1, 2}})), [("bad_value", "a", "input")]),
    ("NUL in a description", flow(step("a", description="a\x00")), [("bad_value", None, "")]),
    ("NUL", flow(step("a", input="a\x00")), [("bad_value", "a", "input")]),
    ("unknown output", flow(step("a", input="$.outputs.z")), [("unknown_output", "a", "input")]),
    ("own output", flow(step("a", input="$.outputs.a")), [("output_too_early", "a", "input")]),
    ("output of a later step", flow(step("a", input="$.outputs.b?"), step("b", after="a")), [("output_too_early", "a", "input")]),
    ("output of a step beside", flow(step("a"), step("b", input="$.outputs.a?")), [("output_too_early", "b", "input")]),
    ("output of what failed", flow(step("a", on_error="h"), step("h", input="$.outputs.a")), [("output_too_early", "h", "input")]),
    ("output of one arm", flow(ARMS, step("x", on_ok="z"), step("y", on_ok="z"), step("z", input="$.outputs.x")),
     [("output_may_be_missing", "z", "input")]),
    ("output of the run", flow(ARMS, step("x"), step("y"), output={"x": "$.outputs.x"}),
     [("output_may_be_missing", None, "output.x")]),
    ("same output twice", flow(step("a", output="o"), step("b", output="o")), [("output_conflict", "b", "output")]),
    ("item outside a map", flow(step("a", input="$.item")), [("item_outside_map", "a", "input")]),
    ("index in over", flow(step("a", "map", over="$.index", each={"performer": "task"})), [("item_outside_map", "a", "over")]),
    ("event outside a trigger", flow(step("a", input="$.event")), [("event_outside_trigger", "a", "input")]),
    ("errors of nobody", flow(step("a", input="$.errors.z.code?")), [("unknown_step", "a", "input")]),
    ("condition reads too early", flow(step("a", routes=[{"to": "b", "when": {"path": "$.outputs.b"}}]), step("b")),
     [("output_too_early", "a", "routes[0].when[0]")]),
    ("no performer", flow({"name": "a"}), [("unknown_performer", "a", "performer")]),
    ("unknown performer", flow(step("a", "robot")), [("unknown_performer", "a", "performer")]),
    ("unknown field", flow(step("a", colour="red")), [("unknown_field", "a", "colour")]),
    ("field of another performer", flow(step("a", "log", message="m", queue="q")), [("unknown_field", "a", "queue")]),
    ("missing field", flow(step("a", "child")), [("missing_field", "a", "workflow")]),
    ("no name", flow({"performer": "task"}), [("missing_field", "steps[0]", "name")]),
    ("bad name", flow(step("a b")), [("bad_value", "a b", "name")]),
    ("bad duration", flow(step("a", deadline="soon")), [("bad_value", "a", "deadline")]),
    ("bad limit", flow(step("a", routes=[{"to": "a", "limit": 0}])), [("bad_value", "a", "routes[0].limit")]),
    ("bad operator", flow(step("a", routes=[{"to": "a", "when": [{"path": "$.input", "op": "like"}]}])),
     [("bad_value", "a", "routes[0].when[0].op")]),
    ("bad each", flow(step("a", "map", over=[], each={"performer": "log"})), [("unknown_performer", "a", "each.performer")]),
    ("no steps", {"name": "w", "steps": []}, [("bad_value", None, "steps")]),
    ("nothing", {}, [("missing_field", None, "name"), ("missing_field", None, "steps")]),
    ("no object", [1], [("bad_value", None, "")]),
    ("version", flow(step("a"), version=0), [("bad_value", None, "version")]),
    ("trigger that reads a run", flow(step("a"), triggers=[{"name": "t", "kind": "event", "event": "e", "input": ["$.input"]}]),
     [("trigger_reads_run", None, "triggers[0].input[0]")]),
    ("trigger with no path", flow(step("a"), triggers=[
        {"name": "t", "kind": "event", "event": "e", "input": "$.evnt", "when": [{"path": "x", "op": "exists"}]}]),
     [("bad_path", None, "triggers[0].when[0].path"), ("bad_path", None, "triggers[0].input")]),
    ("trigger with no cron line", flow(step("a"), triggers=[{"name": "t", "kind": "schedule", "cron": "61 * * * *"}]),
     [("bad_schedule", None, "triggers[0]")]),
    ("cron of no schedule", flow(step("a"), triggers=[{"name": "t", "cron": "1 * * * *"}]), [("bad_value", None, "triggers[0]")]),
    ("event of no event trigger", flow(step("a"), triggers=[{"name": "t", "event": "e"}]), [("bad_value", None, "triggers[0]")]),
    ("schedule with both", flow(step("a"), triggers=[
        {"name": "t", "kind": "schedule", "cron": "1 * * * *", "at": "2030-01-01T00:00:00Z"}]),
     [("bad_value", None, "triggers[0]")]),
    ("conditions of no event", flow(step("a"), triggers=[{"name": "t", "when": {"path": "$.event"}}]),
     [("bad_value", None, "triggers[0]")]),
    ("trigger in no time zone", flow(step("a"), triggers=[
        {"name": "t", "kind": "schedule", "cron": "1 * * * *", "timezone": "Europe/Atlantis"}]),
     [("bad_schedule", None, "triggers[0]")]),
    ("trigger at no time", flow(step("a"), triggers=[{"name": "t", "kind": "schedule", "at": "noon"}]),
     [("bad_schedule", None, "triggers[0]")]),
    ("trigger", flow(step("a"), triggers=[{"name": "t", "kind": "schedule"}]), [("bad_value", None, "triggers[0]")]),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "expected"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_each_mistake_has_a_code_and_names_its_step_and_place(raw: Any, expected: list[Any]) -> None:
    assert found(raw) == expected


def test_every_complaint_at_once() -> None:
    raw = flow(
        step("a", after="z", retry=5), step("b", "robot"), step("c", on_ok="zz"), step("c"), {"name": "d", "performer": "wait"},
        version=-1, colour="red",
    )  # fmt: skip
    assert {
        ("bad_value", None, "version"), ("unknown_field", None, "colour"), ("bad_value", "a", "retry"),
        ("unknown_step", "a", "after"), ("unknown_performer", "b", "performer"), ("unknown_step", "c", "routes[0].to"),
        ("duplicate_step", "c", "name"),
    } == set(found(raw))  # fmt: skip
    raw = flow(step("a", "wait"), step("b", after="z", input="$.x"), step("c", compensate_with="b", recovery="none"))
    assert {code for code, _, _ in found(raw)} == {
        "wait_needs_one", "unknown_step", "bad_path", "compensation_unused", "compensation_in_flow",
    }  # fmt: skip


def test_the_error_names_workflow_step_and_how_many_more() -> None:
    with pytest.raises(InvalidDefinition) as caught:
        from_data(flow(step("b", after="aa"), step("aaa", after="x")))
    assert caught.value.message == (
        "Workflow 'w' cannot be registered: step 'b', after: there is no step 'aa'; did you mean 'aaa'?. There are 2 problems."
    )


RIGHT: list[tuple[str, Any]] = [
    ("diamond", flow(step("a"), step("b", after="a"), step("c", after="a"), step("d", after=["b", "c"]))),
    ("join of one arm", flow(ARMS, step("x"), step("y"), step("b"), step("j", after=["x", "b"]))),
    ("arms that meet",
     flow(ARMS, step("x", on_ok="z", output="o"), step("y", on_ok="z", output="o"), step("z", input="$.outputs.o"))),
    ("optional output", flow(ARMS, step("x", on_ok="z"), step("y", on_ok="z"), step("z", input="$.outputs.x?"))),
    ("output of a handled step", flow(step("a", on_error="h"), step("h", input="$.errors.a.code"))),
    ("fan out with two fallbacks",
     flow(step("a", fan_out=True, routes=["b", "c"]), step("b"), step("c"), step("d", after=["b", "c"]))),
    ("rework", flow(step("a", input="$.previous.b?"), step("b", after="a", routes=[{"to": "a", "limit": 3, "when": IF}, "end"]))),
    ("rework by failure", flow(step("a"), step("b", "approval", after="a", on_error={"to": "a", "limit": 3}))),
    ("map", flow(step("a", "map", over=[1, "$.input.x"], each={"performer": "human", "input": ["$.item", "$.index"]}))),
    ("map of children", flow(step("a", "map", over="$.input", each={"performer": "child", "workflow": "v", "key": "$.item.id"}))),
    ("undoing reads what is undone", flow(step("a", compensate_with="u"), step("u", input=["$.outputs.a", "$.input"]))),
    ("schema", flow(step("a"), input_schema={"type": ["object", "null"], "properties": {"a": True}, "required": ["a"]})),
    ("no queue needed", {"name": "w", "steps": [step("a", "approval"), step("b", "wait", until="2026-01-01T00:00:00Z")]}),
    ("triggers", flow(step("a"), triggers=[
        {"name": "m"}, {"name": "e", "kind": "event", "event": "x", "input": {"of": "$.event.id"}, "when": {"path": "$.event"}},
        {"name": "s", "kind": "schedule", "cron": "0 7 * * 1-5", "timezone": "Europe/Berlin"},
        {"name": "o", "kind": "schedule", "at": "2030-01-01T00:00:00Z"}])),
    ("after and route", flow(step("a", on_ok="c"), step("b"), step("c", after="b", input=["$.outputs.a", "$.outputs.b"]))),
]  # fmt: skip


@pytest.mark.parametrize("raw", [case[1] for case in RIGHT], ids=[case[0] for case in RIGHT])
def test_what_is_right_has_no_problems(raw: Any) -> None:
    assert found(raw) == []


def test_a_mapping_may_be_nested_twenty_deep_and_no_deeper() -> None:
    def nested(levels: int) -> Any:
        return 1 if levels == 1 else [nested(levels - 1)]

    assert found(flow(step("a", input=nested(20)))) == []
    assert found(flow(step("a", input=nested(21)))) == [("bad_value", "a", "input")]


def test_a_schema_is_judged_whole_by_whoever_can() -> None:
    definition = WorkflowDefinition.model_validate(flow(step("a"), input_schema={"minimum": "x"}))
    assert problems_of(definition) == []
    assert [p.message for p in problems_of(definition, lambda schema: "minimum is no number")] == [
        "minimum is no number"
    ]


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (from_json, "{"), (from_json, '{"name": "a", "name": "b"}'), (from_json, '{"name": NaN}'), (from_json, "[" * 100_000),
        (from_toml, "name = "), (from_toml, 'name = "a"\nname = "b"'), (from_json, " " * 4_000_001),
    ],
)  # fmt: skip
def test_text_that_is_none_is_told_so(read: Any, text: str) -> None:
    with pytest.raises(InvalidDefinition) as caught:
        read(text)
    assert [problem["code"] for problem in caught.value.evidence["problems"]] == ["bad_text"]


def test_a_thousand_decisions_are_validated_in_a_moment() -> None:
    steps = [step("s0")]
    for number in range(1, 250):
        steps += [
            step(f"d{number}", after=f"s{number - 1}", routes=[{"to": f"x{number}", "when": {"path": "$.input"}}, f"y{number}"]),
            step(f"x{number}", on_ok=f"s{number}"), step(f"y{number}", on_ok=f"s{number}"), step(f"s{number}"),
        ]  # fmt: skip
    assert found(flow(*steps)) == []
