"""A graph as an SVG picture: no script, nothing fetched, every text escaped; light and dark by the viewer's wish."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from tenure.flow.model.layout import HEIGHT, MARGIN, WIDTH, Layout, Point, lay_out

_STYLE = """
.tf{font:13px system-ui,sans-serif;--fg:#111827;--dim:#6b7280;--bg:#fff;--line:#9ca3af}
.tf text{fill:var(--fg)}.tf .sub,.tf .lab{font-size:11px;fill:var(--dim)}
.tf .lab{paint-order:stroke;stroke:var(--bg);stroke-width:4px}
.tf .box{fill:var(--bg);stroke:var(--line);stroke-width:1.5}
.tf path{fill:none;stroke:var(--line);stroke-width:1.5}.tf .taken{stroke:#2563eb;stroke-width:2}
.tf .error,.tf .back,.tf .undo{stroke-dasharray:5 4}
.tf path{stroke-linejoin:round}.tf .head{fill:var(--line);stroke:none}.tf .head.taken{fill:#2563eb}
.tf .s-active .box{fill:#dbeafe;stroke:#1d4ed8}.tf .s-open .box{fill:#fef3c7;stroke:#b45309}
.tf .s-ok .box{fill:#dcfce7;stroke:#15803d}.tf .s-error .box{fill:#fee2e2;stroke:#b91c1c}
.tf .s-canceled .box{fill:#e5e7eb;stroke:#6b7280}.tf .s-undone .box{fill:#ede9fe;stroke:#6d28d9}
.tf .s-reached .box{stroke:#60a5fa}.tf .s-skipped .box{stroke-dasharray:4 3}.tf .s-skipped text{fill:var(--dim)}
@media (prefers-color-scheme:dark){.tf{--fg:#f3f4f6;--dim:#9ca3af;--bg:#111827;--line:#6b7280}
.tf .s-active .box{fill:#1e3a8a}.tf .s-open .box{fill:#78350f}.tf .s-ok .box{fill:#14532d}
.tf .s-error .box{fill:#7f1d1d}.tf .s-canceled .box{fill:#374151}.tf .s-undone .box{fill:#4c1d95}}
""".strip()
_ROOM_FOR_TEXT = 22
_ROOM_FOR_LABEL = 34


def svg(graph: Mapping[str, Any]) -> str:
    """The picture, whose size follows from what is in it."""
    layout = lay_out(graph)
    back = [edge for edge in graph["edges"] if edge["kind"] == "back" or edge["from"] == edge["to"]]
    width, height = layout.width + 26 * len(back) + (8 * _ROOM_FOR_LABEL if back else 0), layout.height
    title = f"{graph['workflow']} version {graph['version']}" + (f", {graph['status']}" if graph["status"] else "")
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tf" role="img" {size}>',
        f"<title>{_text(title)}</title>",
        f"<style>{_STYLE}</style>",
        *_forward(graph, layout),
        *_back(back, layout),
        *(line for node in graph["nodes"] for line in _node(node, layout.at[node["id"]])),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _node(node: Mapping[str, Any], at: Point) -> Iterator[str]:
    x, y = at[0] - WIDTH / 2, at[1] - HEIGHT / 2
    round_by = 24 if node["performer"] in ("approval", "pause", "wait") else 6
    yield f'<g class="s-{_text(node["state"])}">'
    yield f"<title>{_text(_told(node))}</title>"
    yield f'<rect class="box" x="{x:.1f}" y="{y:.1f}" width="{WIDTH}" height="{HEIGHT}" rx="{round_by}"/>'
    yield f'<text x="{at[0]:.1f}" y="{at[1] - 3:.1f}" text-anchor="middle">{_text(_short(node["id"], _ROOM_FOR_TEXT))}</text>'
    yield f'<text class="sub" x="{at[0]:.1f}" y="{at[1] + 14:.1f}" text-anchor="middle">{_text(_short(_below(node), 28))}</text>'
    yield "</g>"


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


def _forward(graph: Mapping[str, Any], layout: Layout) -> Iterator[str]:
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
        yield f'<path class="{_classes(edge)}" d="{path}"/>'
        yield _head(edge, end, 0, 1)
        if edge["label"]:
            yield _label(edge["label"], _near_its_end(start, way[1]), "middle")


def _near_its_end(a: Point, b: Point) -> Point:
    """A point on the curve from one row to the next, where those that begin together have parted."""
    t = 0.72
    from_a, bent = (1 - t) ** 2 * (1 + 2 * t), 3 * t * (1 - t)
    x = a[0] * from_a + b[0] * (1 - from_a)
    y = a[1] * (1 - t) ** 3 + bent * (a[1] + b[1]) / 2 + b[1] * t**3
    return x, y


def _back(edges: list[Mapping[str, Any]], layout: Layout) -> Iterator[str]:
    """Edges back lead between the rows and around on the right, each on a track of its own."""
    last = layout.width - MARGIN / 2 + 26 * (len(edges) - 1)
    for number, edge in enumerate(edges):
        source, target = layout.at[edge["from"]], layout.at[edge["to"]]
        track = layout.width - MARGIN / 2 + 26 * number
        start, end = (source[0] + WIDTH / 2, source[1] + 8), (target[0] + WIDTH / 2, target[1] - 8)
        under, over = source[1] + HEIGHT / 2 + 8 + 3 * (number % 4), target[1] - HEIGHT / 2 - 8 - 3 * (number % 4)
        path = f"M{start[0]:.1f} {start[1]:.1f} h8 V{under:.1f} H{track:.1f} V{over:.1f} H{end[0] + 14:.1f} V{end[1]:.1f} h-8"
        yield f'<path class="{_classes(edge)}" d="{path}"/>'
        yield _head(edge, end, -1, 0)
        if edge["label"]:
            yield _label(edge["label"], (last + 8, (start[1] + end[1]) / 2 + 14 * number), "start")


def _head(edge: Mapping[str, Any], at: Point, dx: int, dy: int) -> str:
    """The tip of an arrow that points in the direction (dx, dy)."""
    base = (at[0] - 7 * dx, at[1] - 7 * dy)
    one, other = (base[0] + 4 * dy, base[1] + 4 * dx), (base[0] - 4 * dy, base[1] - 4 * dx)
    taken = " taken" if edge["taken"] else ""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at, one, other))
    return f'<polygon class="head{taken}" points="{points}"/>'


def _classes(edge: Mapping[str, Any]) -> str:
    return f"{edge['kind']} taken" if edge["taken"] else str(edge["kind"])


def _label(text: str, at: Point, anchor: str) -> str:
    short = _text(_short(text, _ROOM_FOR_LABEL))
    return f'<text class="lab" x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}">{short}<title>{_text(text)}</title></text>'


def _short(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def _text(text: str) -> str:
    """Text that XML takes: markup escaped, what it cannot hold left out."""
    kept = "".join(
        c for c in text if c in "\n\t" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")
    )
    return escape(kept, quote=True)
