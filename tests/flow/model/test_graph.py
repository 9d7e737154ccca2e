"""A run as a picture: nodes, edges, Mermaid, SVG."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree as ET

from hypothesis import HealthCheck, given, settings

from tenure.flow.model.builder import Workflow, to, when
from tenure.flow.model.graph import graph
from tenure.flow.model.layout import HEIGHT, WIDTH, lay_out
from tenure.flow.model.mermaid import mermaid
from tenure.flow.model.svg import svg
from tests.flow.model.definitions import definitions
from tests.flow.model.scene import RunScene
from tests.flow.model.test_compensation import failed


def drawn(scene: RunScene) -> dict[str, Any]:
    return graph(scene.definition, scene.state)


def states(scene: RunScene) -> dict[str, str]:
    return {node["id"]: node["state"] for node in drawn(scene)["nodes"]}


def choice() -> RunScene:
    flow = (
        Workflow("choice", queue="q").task("a", routes=[to("x", when("$.outputs.a", "eq", 1)), "y"]).task("x").task("y")
        .task("j", after=["x", "y2"]).task("y2").approval("sign", after="y", on_error=to("a", limit=2))
        .map("m", "$.input", after="sign")
    )  # fmt: skip
    return RunScene(flow.define(), [1, 2, 3]).start()


def test_states_of_steps() -> None:
    scene = choice()
    assert states(scene)["a"] == "active"
    scene.ok("a", 2)
    assert states(scene) == {
        "a": "ok", "x": "skipped", "y": "active", "j": "skipped", "y2": "active", "sign": "idle", "m": "idle",
    }  # fmt: skip
    scene.ok("y")
    scene.resolve("approved")
    scene.ok("m[1]")
    nodes = {node["id"]: node for node in drawn(scene)["nodes"]}
    assert nodes["m"]["items"] == {"total": 3, "planned": 3, "ok": 1, "error": 0, "canceled": 0, "open": 2}


def test_what_waits_for_a_step_that_failed_is_skipped() -> None:
    flow = Workflow("f", queue="q").task("a", on_error="h").task("b", after="a").task("h").task("c", after="h")
    scene = RunScene(flow.define()).start()
    scene.error("a")
    assert states(scene) == {"a": "error", "b": "skipped", "h": "active", "c": "idle"}


def test_labels_are_cut_where_they_are_too_long() -> None:
    def label(value: str) -> str:
        flow = Workflow("l", queue="q").task("a", routes=[to("b", when("$.input", "eq", value)), "end"]).task("b")
        return str(graph(flow.define())["edges"][0]["label"])

    assert label("x" * 52) == "input = " + "x" * 52
    assert label("x" * 53) == "input = " + "x" * 51 + "…"


def test_what_was_undone() -> None:
    scene = failed()
    scene.ok("refund")
    assert states(scene) == {"reserve": "ok", "charge": "undone", "ship": "error", "restock": "active", "refund": "ok"}


def test_edges_say_what_they_need_and_whether_they_were_taken() -> None:
    scene = choice()
    scene.ok("a", 2)
    edges = {(e["from"], e["to"]): e for e in drawn(scene)["edges"]}
    assert (edges["a", "x"]["label"], edges["a", "x"]["taken"]) == ("outputs.a = 1", False)
    assert (edges["a", "y"]["label"], edges["a", "y"]["taken"]) == ("else", True)
    back = edges["sign", "a"]
    assert (back["kind"], back["label"], back["taken"]) == ("back", "on error (at most 2×)", False)
    scene.ok("y")
    scene.resolve("rejected")
    assert {(e["from"], e["to"]) for e in drawn(scene)["edges"] if e["taken"] and e["kind"] == "back"} == {
        ("sign", "a")
    }


def test_the_way_of_a_failure_is_taken_and_not_that_of_success() -> None:
    flow = Workflow("f", queue="q").task("a", on_ok="good", on_error="bad").task("good").task("bad")
    scene = RunScene(flow.define()).start()
    scene.error("a")
    assert {e["to"]: e["taken"] for e in drawn(scene)["edges"]} == {"good": False, "bad": True}
    other = RunScene(scene.definition).start()
    other.ok("a")
    assert {e["to"]: e["taken"] for e in drawn(other)["edges"]} == {"good": True, "bad": False}


def test_a_definition_alone_has_a_picture_too() -> None:
    alone = graph(choice().definition)
    assert (alone["status"], {node["state"] for node in alone["nodes"]}) == (None, {"idle"})
    assert json.loads(json.dumps(alone)) == alone


def test_mermaid_takes_no_text_for_markup() -> None:
    evil = '"] --> x; click a "javascript:alert(1)" <b>'
    flow = Workflow("e", queue="q").task("a", routes=[to("b", when("$.input", "eq", evil)), "end"]).task("b").define()
    text = mermaid(graph(flow))
    (line,) = [line for line in text.splitlines() if "-->" in line]
    label = re.fullmatch(r'    n0 -->\|"([^"<>;&]|#\d+;)*"\| n1', line)
    assert label is not None


def test_mermaid_tells_states_by_classes() -> None:
    scene = choice()
    scene.ok("a", 2)
    text = mermaid(drawn(scene))
    assert text.startswith("flowchart TD\n")
    assert "    class n0 ok\n" in text
    assert "    class n1,n3 skipped\n" in text


def test_svg_is_xml_that_escapes_every_text() -> None:
    evil = "</title><script>alert(1)</script>&\x01\ud800"
    picture = graph(choice().definition)
    picture["workflow"] = picture["nodes"][0]["description"] = picture["edges"][0]["label"] = evil
    picture["nodes"][0]["queue"] = evil
    root = ET.fromstring(svg(picture))  # noqa: S314
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    titles = [element.text or "" for element in root.iter() if element.tag.endswith("title")]
    assert any("<script>alert(1)</script>&" in title for title in titles)
    assert not re.search(r"\bon\w+=|href|url\(|@import", svg(picture))


def test_the_same_graph_is_the_same_picture() -> None:
    assert svg(graph(choice().definition)) == svg(graph(choice().definition))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(definitions(most=10))
def test_nodes_never_overlap_and_everything_is_inside_the_picture(definition: Any) -> None:
    picture = graph(definition)
    layout = lay_out(picture)
    boxes = list(layout.at.values())
    assert len(boxes) == len(picture["nodes"])
    for number, (x, y) in enumerate(boxes):
        assert WIDTH / 2 <= x <= layout.width - WIDTH / 2
        assert HEIGHT / 2 <= y <= layout.height - HEIGHT / 2
        assert all(abs(x - u) >= WIDTH or abs(y - v) >= HEIGHT for u, v in boxes[:number])
    for edge in picture["edges"]:
        if edge["kind"] != "back":
            assert layout.at[edge["from"]][1] < layout.at[edge["to"]][1], "a forward edge leads down"
    root = ET.fromstring(svg(picture))  # noqa: S314
    heads = [element for element in root.iter() if element.tag.endswith("polygon")]
    assert len(heads) == len(picture["edges"])
    assert mermaid(picture).count("\n    n") == len(picture["nodes"]) + len(picture["edges"])
