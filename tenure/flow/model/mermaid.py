"""A graph as Mermaid text, which many tools draw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_SHAPES = {
    "task": ("[", "]"), "human": ("[/", "/]"), "external": ("[[", "]]"), "approval": ("{{", "}}"), "pause": ("{{", "}}"),
    "wait": ("([", "])"), "child": ("[[", "]]"), "map": ("[(", ")]"), "log": (">", "]"),
}  # fmt: skip
_ARROWS = {"after": "-->", "ok": "-->", "error": "-.->", "back": "-.->", "undo": "-.-"}
_STYLES = {
    "active": "fill:#dbeafe,stroke:#1d4ed8,color:#111827", "open": "fill:#fef3c7,stroke:#b45309,color:#111827",
    "ok": "fill:#dcfce7,stroke:#15803d,color:#111827", "error": "fill:#fee2e2,stroke:#b91c1c,color:#111827",
    "canceled": "fill:#e5e7eb,stroke:#6b7280,color:#111827", "undone": "fill:#ede9fe,stroke:#6d28d9,color:#111827",
    "skipped": "fill:#f9fafb,stroke:#9ca3af,color:#6b7280,stroke-dasharray:4",
    "reached": "fill:#eff6ff,stroke:#60a5fa,color:#111827",
}  # fmt: skip


def mermaid(graph: Mapping[str, Any]) -> str:
    """The text of a flowchart, from the top down, coloured by state."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: Mapping[str, Any]) -> Iterator[str]:
    yield "flowchart TD"
    ids = {node["id"]: f"n{number}" for number, node in enumerate(graph["nodes"])}
    for node in graph["nodes"]:
        left, right = _SHAPES[node["performer"]]
        times = f" ×{node['iteration']}" if node["iteration"] > 1 else ""
        yield f'    {ids[node["id"]]}{left}"{_text(node["id"] + times)}"{right}'
    for edge in graph["edges"]:
        label = f'|"{_text(edge["label"])}"|' if edge["label"] else ""
        yield f"    {ids[edge['from']]} {_ARROWS[edge['kind']]}{label} {ids[edge['to']]}"
    for state, style in _STYLES.items():
        members = [ids[node["id"]] for node in graph["nodes"] if node["state"] == state]
        if members:
            yield f"    classDef {state} {style}"
            yield f"    class {','.join(members)} {state}"


def _text(text: str) -> str:
    """Text that Mermaid reads as nothing but text."""
    return "".join(c if c.isalnum() or c in " _-.,:=()×≤≥≠…" else f"#{ord(c)};" for c in text)
