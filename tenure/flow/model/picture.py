"""Where everything of a graph is drawn: boxes, lines, arrow heads, labels. What draws them is another's business."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenure.flow.model.layout import HEIGHT, WIDTH, Layout, Point, lay_out

_ROOM_FOR_NAME = 22
_ROOM_BELOW = 28
_ROOM_FOR_LABEL = 34
_TRACK = 26


@dataclass(frozen=True, slots=True)
class Box:
    """A step: its corner, its size, and the words in it; ``told`` is what one line each says about it."""

    id: str
    state: str
    x: float
    y: float
    width: float
    height: float
    rounded: float
    name: str
    below: str
    told: str


@dataclass(frozen=True, slots=True)
class Label:
    """Words beside a line: as many as there is room for, and all of them."""

    text: str
    whole: str
    x: float
    y: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Line:
    """An edge: its path, the three corners of the tip of its arrow, its words."""

    kind: str
    taken: bool
    path: str
    head: str
    label: Label | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """A graph, placed. Lengths are in pixels at the size at which it is meant to be seen."""

    title: str
    width: float
    height: float
    boxes: Sequence[Box]
    lines: Sequence[Line]


def picture(graph: Mapping[str, Any]) -> Picture:
    """Place everything in a graph, as ``tenure.flow.model.graph`` gives it."""
    layout = lay_out(graph)
    back = [edge for edge in graph["edges"] if edge["kind"] == "back" or edge["from"] == edge["to"]]
    return Picture(
        title=f"{graph['workflow']} version {graph['version']}" + (f", {graph['status']}" if graph["status"] else ""),
        width=layout.width + _TRACK * len(back) + _beside(back), height=layout.height,
        boxes=[_box(node, layout.at[node["id"]]) for node in graph["nodes"]],
        lines=[*_forward(graph, layout), *_back(back, layout)],
    )  # fmt: skip


def _box(node: Mapping[str, Any], at: Point) -> Box:
    return Box(
        id=node["id"], state=node["state"], x=at[0] - WIDTH / 2, y=at[1] - HEIGHT / 2, width=WIDTH, height=HEIGHT,
        rounded=24 if node["performer"] in ("approval", "pause", "wait") else 6,
        name=_short(node["id"], _ROOM_FOR_NAME), below=_short(_below(node), _ROOM_BELOW), told=_told(node),
    )  # fmt: skip


def _below(node: Mapping[str, Any]) -> str:
    """The second line: performer, state, how often, how many."""
    parts = [node["performer"], *([node["state"]] if node["state"] != "idle" else [])]
    if node["iteration"] > 1:
        parts.append(f"×{node['iteration']}")
    if items := node.get("items"):
        parts.append(f"{items['ok']}/{items['total']}")
    return " · ".join(parts)


def _told(node: Mapping[str, Any]) -> str:
    told = [f"{node['id']} ({node['performer']}): {node['state']}"]
    more = ("queue", "description", "planned_at", "ended_at", "error")
    return "\n".join([*told, *(f"{key.replace('_', ' ')}: {node[key]}" for key in more if node.get(key))])


def _forward(graph: Mapping[str, Any], layout: Layout) -> Iterator[Line]:
    for number, points in layout.through.items():
        edge = graph["edges"][number]
        start, end = (points[0][0], points[0][1] + HEIGHT / 2), (points[-1][0], points[-1][1] - HEIGHT / 2)
        way = [start, *(end for x, y in points[1:-1] for end in ((x, y - HEIGHT / 2), (x, y + HEIGHT / 2))), end]
        path = f"M{start[0]:.1f} {start[1]:.1f}"
        for a, b in itertools.pairwise(way):
            bend = (a[1] + b[1]) / 2
            straight = f" V{b[1]:.1f}"
            curve = f" C{a[0]:.1f} {bend:.1f} {b[0]:.1f} {bend:.1f} {b[0]:.1f} {b[1]:.1f}"
            path += straight if a[0] == b[0] else curve
        label = _label(edge["label"], _near_its_end(start, way[1]), "middle")
        yield Line(edge["kind"], edge["taken"], path, _head(end, 0, 1), label)


def _near_its_end(a: Point, b: Point) -> Point:
    """A point on the curve from one row to the next, where those that begin together have parted."""
    t = 0.72
    from_a, bent = (1 - t) ** 2 * (1 + 2 * t), 3 * t * (1 - t)
    x = a[0] * from_a + b[0] * (1 - from_a)
    y = a[1] * (1 - t) ** 3 + bent * (a[1] + b[1]) / 2 + b[1] * t**3
    return x, y


def _back(edges: list[Mapping[str, Any]], layout: Layout) -> Iterator[Line]:
    """Edges back lead between the rows and around on the right, each on a track of its own."""
    last = layout.width + _TRACK * (len(edges) - 1)
    rightmost: dict[float, float] = {}
    for x, y in [*layout.at.values(), *(point for points in layout.through.values() for point in points)]:
        rightmost[y] = max(x, rightmost.get(y, 0.0))
    for number, edge in enumerate(edges):
        source, target = layout.at[edge["from"]], layout.at[edge["to"]]
        track = layout.width + _TRACK * number
        start, end = (source[0] + WIDTH / 2, source[1] + 8), (target[0] + WIDTH / 2, target[1] - 8)
        under, over = source[1] + HEIGHT / 2 + 8 + 3 * (number % 4), target[1] - HEIGHT / 2 - 8 - 3 * (number % 4)
        # Straight to the right where nothing stands there, else between the rows.
        out = f"H{track:.1f}" if source[0] >= rightmost[source[1]] else f"h8 V{under:.1f} H{track:.1f}"
        into = (
            f"V{end[1]:.1f} H{end[0] + 6:.1f}"
            if target[0] >= rightmost[target[1]]
            else f"V{over:.1f} H{end[0] + 14:.1f} V{end[1]:.1f} h-8"
        )
        path = f"M{start[0]:.1f} {start[1]:.1f} {out} {into}"
        label = _label(edge["label"], (last + 8, (start[1] + end[1]) / 2 + 14 * number), "start")
        yield Line(edge["kind"], edge["taken"], path, _head(end, -1, 0), label)


def _beside(back: list[Mapping[str, Any]]) -> float:
    """The room that the words of the edges back need on the right."""
    return max((16 + 6.5 * min(len(edge["label"]), _ROOM_FOR_LABEL) for edge in back), default=0)


def _head(at: Point, dx: int, dy: int) -> str:
    """The tip of an arrow that points in the direction (dx, dy)."""
    base = (at[0] - 7 * dx, at[1] - 7 * dy)
    one, other = (base[0] + 4 * dy, base[1] + 4 * dx), (base[0] - 4 * dy, base[1] - 4 * dx)
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in (at, one, other))


def _label(text: str, at: Point, anchor: str) -> Label | None:
    return Label(_short(text, _ROOM_FOR_LABEL), text, at[0], at[1], anchor) if text else None


def _short(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"
