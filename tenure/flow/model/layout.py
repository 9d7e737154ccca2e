"""A small layered layout: steps in rows by how far they are from the beginning, ordered so that few edges cross."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

WIDTH, HEIGHT = 176, 48
_GAP_X, _GAP_Y, _BEND = 28, 58, 24
MARGIN = 24
_SWEEPS = 8

Point = tuple[float, float]


@dataclass(slots=True)
class Layout:
    """Where everything is: the middle of each node, the points of each forward edge, the size of the whole."""

    at: dict[str, Point] = field(default_factory=dict)
    through: dict[int, list[Point]] = field(default_factory=dict)
    width: float = 0
    height: float = 0


def lay_out(graph: Mapping[str, Any]) -> Layout:
    """Place nodes and forward edges of a graph; back edges lead around and have no points of their own."""
    names = [node["id"] for node in graph["nodes"]]
    forward = {
        n: (e["from"], e["to"]) for n, e in enumerate(graph["edges"]) if e["kind"] != "back" and e["from"] != e["to"]
    }
    layer = _layers(names, list(forward.values()))
    rows, chains = _with_bends(names, layer, forward)
    neighbours = _neighbours(chains)
    _order(rows, neighbours)
    x = _place(rows, neighbours)
    layout = Layout()
    shift = min((x[n] - _wide(n) / 2 for row in rows for n in row), default=0)
    for depth, row in enumerate(rows):
        y = MARGIN + HEIGHT / 2 + depth * (HEIGHT + _GAP_Y)
        for name in row:
            layout.at[name] = (x[name] - shift + MARGIN, y)
    for number, chain in chains.items():
        layout.through[number] = [layout.at[name] for name in chain]
    layout.width = max((at[0] + _wide(n) / 2 for n, at in layout.at.items()), default=0) + MARGIN
    layout.height = 2 * MARGIN + max(1, len(rows)) * (HEIGHT + _GAP_Y) - _GAP_Y
    layout.at = {name: at for name, at in layout.at.items() if name in set(names)}
    return layout


def _layers(names: list[str], edges: list[tuple[str, str]]) -> dict[str, int]:
    """The longest way from a beginning. What goes round by mistake stays where it was first."""
    layer = dict.fromkeys(names, 0)
    for _ in names:
        changed = False
        for source, target in edges:
            if layer[target] <= layer[source] < len(names):
                layer[target] = layer[source] + 1
                changed = True
        if not changed:
            break
    return layer


def _with_bends(
    names: list[str], layer: dict[str, int], forward: Mapping[int, tuple[str, str]]
) -> tuple[list[list[str]], dict[int, list[str]]]:
    """Rows of nodes, with a bend in each row that a long edge passes."""
    rows: list[list[str]] = [[] for _ in range(max(layer.values(), default=0) + 1)]
    for name in names:
        rows[layer[name]].append(name)
    chains = {}
    for number, (source, target) in forward.items():
        bends = [f"\n{number}:{depth}" for depth in range(layer[source] + 1, layer[target])]
        for depth, bend in enumerate(bends, layer[source] + 1):
            rows[depth].append(bend)
        chains[number] = [source, *bends, target]
    return [row for row in rows if row], chains


def _neighbours(chains: Mapping[int, list[str]]) -> dict[str, dict[str, list[str]]]:
    near: dict[str, dict[str, list[str]]] = {"up": defaultdict(list), "down": defaultdict(list)}
    for chain in chains.values():
        for above, below in itertools.pairwise(chain):
            near["up"][below].append(above)
            near["down"][above].append(below)
    return near


def _order(rows: list[list[str]], near: Mapping[str, Mapping[str, list[str]]]) -> None:
    """Sort each row by the middle of its neighbours, up and down in turn."""
    for sweep in range(_SWEEPS):
        side = "up" if sweep % 2 == 0 else "down"
        for row in rows if side == "up" else rows[::-1]:
            place = {name: number for other in rows for number, name in enumerate(other)}
            here = {name: number for number, name in enumerate(row)}
            middle = {n: _mean([place[m] for m in near[side].get(n, ())], here[n]) for n in row}
            row.sort(key=lambda n, m=middle, h=here: (m[n], h[n]))  # type: ignore[misc]


def _place(rows: list[list[str]], near: Mapping[str, Mapping[str, list[str]]]) -> dict[str, float]:
    """Where each stands from left to right: under what is above it, as far as there is room."""
    x: dict[str, float] = {}
    for row in rows:
        at = 0.0
        for name in row:
            x[name] = at + _wide(name) / 2
            at += _wide(name) + _GAP_X
    for sweep in range(_SWEEPS):
        side = "up" if sweep % 2 == 0 else "down"
        for row in rows if side == "up" else rows[::-1]:
            wanted = [_mean([x[m] for m in near[side].get(n, ())], x[n]) for n in row]
            x |= dict(zip(row, _apart(row, wanted), strict=True))
    return x


def _apart(row: list[str], wanted: list[float]) -> list[float]:
    """As near to where they want to be as neighbours that keep their distance allow: the mean of packing from both sides."""
    right, left = list(wanted), list(wanted)
    for n in range(1, len(row)):
        right[n] = max(right[n], right[n - 1] + _distance(row[n - 1], row[n]))
    for n in range(len(row) - 2, -1, -1):
        left[n] = min(left[n], left[n + 1] - _distance(row[n], row[n + 1]))
    return [(a + b) / 2 for a, b in zip(left, right, strict=True)]


def _distance(one: str, other: str) -> float:
    return (_wide(one) + _wide(other)) / 2 + _GAP_X


def _wide(name: str) -> float:
    return _BEND if name.startswith("\n") else WIDTH


def _mean(values: list[Any], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
