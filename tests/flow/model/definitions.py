"""Random definitions that can run, for Hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.validation import problems_of

KINDS = ["task"] * 5 + ["human", "child", "approval", "pause", "wait", "signal", "map", "log"]


@st.composite
def definitions(draw: st.DrawFn, most: int = 7) -> WorkflowDefinition:
    """A valid definition of up to ``most`` steps, with joins, routes, re-work, maps and compensation."""
    steps: list[dict[str, Any]] = []
    undoing: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, most))):
        step = one_step(draw, number)
        enter(draw, step, steps)
        if step["performer"] in ("task", "human", "child", "map") and draw(st.integers(0, 3)) == 0:
            step["compensate_with"] = f"u{number}"
            undoing.append({"name": f"u{number}", "performer": "task", "input": {"of": f"$.outputs.s{number}"}})
        elif step["performer"] == "task" and draw(st.integers(0, 5)) == 0:
            step["recovery"] = draw(st.sampled_from(["irreversible", "transaction"]))
        steps.append(step)
    for step in steps:
        go_back(draw, step, steps)
        routes = step.get("routes", [])
        fan_out = bool(routes) and not any("limit" in route for route in routes) and draw(st.booleans())
        if fan_out:
            step["fan_out"] = True
        if routes and not any("when" not in route and "limit" not in route for route in routes):
            routes.append({"to": "end"})
    raw = {"name": "random", "queue": "q", "steps": steps + undoing, "output": draw(st.sampled_from([None, "$.input"]))}
    if draw(st.integers(0, 5)) == 0:
        raw["deadline"] = 120
    definition = WorkflowDefinition.model_validate(raw)
    assume(not problems_of(definition))
    return definition


def one_step(draw: st.DrawFn, number: int) -> dict[str, Any]:
    kind = draw(st.sampled_from(KINDS))
    step: dict[str, Any] = {"name": f"s{number}", "performer": "wait" if kind == "signal" else kind}
    if kind in ("task", "human", "child"):
        step["input"] = {"all": "$.input", "before": [f"$.previous.s{number}?"]}
    if kind in ("task", "human") and draw(st.integers(0, 3)) == 0:
        step["on_dead_letter"] = "wait"
    if kind == "child":
        step["workflow"] = "part"
    elif kind == "wait":
        step["duration"] = draw(st.sampled_from([30, 90]))
    elif kind == "signal":
        step["signal"] = draw(st.sampled_from(["x", "y"]))
    elif kind == "log":
        step["message"] = ["at ", "$.run.workflow"]
    elif kind == "map":
        step |= {
            "over": list(range(draw(st.integers(0, 4)))), "each": {"performer": "task", "input": ["$.item", "$.index"]},
            "max_parallel": draw(st.integers(1, 3)),
            "tolerate": draw(st.integers(0, 1)), "join": draw(st.sampled_from(["all", "first"])),
        }  # fmt: skip
    if kind != "log" and draw(st.integers(0, 4)) == 0:
        step["deadline"] = 60
    return step


def enter(draw: st.DrawFn, step: dict[str, Any], before: list[dict[str, Any]]) -> None:
    """How the step begins: by itself, behind others, or by a route."""
    if not before:
        return
    way = draw(st.sampled_from(["root", "after", "after", "route", "error", "both"]))
    if way in ("after", "both"):
        step["after"] = draw(
            st.lists(st.sampled_from([one["name"] for one in before]), min_size=1, max_size=2, unique=True)
        )
    if way in ("route", "error", "both"):
        source = draw(st.sampled_from(before))
        route: dict[str, Any] = {"to": step["name"]}
        if way == "error" and source["performer"] != "log":
            source.setdefault("on_error", []).append(route)
            return
        if draw(st.booleans()):
            route["when"] = {"path": f"$.outputs.{source['name']}", "op": "eq", "value": draw(st.integers(0, 1))}
        source.setdefault("routes", []).append(route)


def go_back(draw: st.DrawFn, step: dict[str, Any], steps: list[dict[str, Any]]) -> None:
    """Perhaps a route back to itself or to a step that it joins."""
    if draw(st.integers(0, 4)) or step["performer"] == "log":
        return
    target = draw(st.sampled_from([step["name"], *step.get("after", [])]))
    route = {"to": target, "limit": draw(st.integers(1, 2))}
    if draw(st.booleans()):
        step.setdefault("on_error", []).insert(0, route)
    else:
        condition = {"path": f"$.outputs.{step['name']}", "op": "eq", "value": 1}
        step.setdefault("routes", []).insert(0, route | {"when": condition})
