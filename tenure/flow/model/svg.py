"""A graph as an SVG picture: no script, nothing fetched, every text escaped; light and dark by the viewer's wish."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from tenure.flow.model.picture import Box, Line, picture

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


def svg(graph: Mapping[str, Any]) -> str:
    """The picture, whose size follows from what is in it."""
    drawn = picture(graph)
    width, height = drawn.width, drawn.height
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tf" role="img" {size}>',
        f"<title>{_text(drawn.title)}</title>",
        f"<style>{_STYLE}</style>",
        *(text for line in drawn.lines for text in _line(line)),
        *(text for box in drawn.boxes for text in _box(box)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _box(box: Box) -> Iterator[str]:
    middle = box.x + box.width / 2, box.y + box.height / 2
    yield f'<g class="s-{_text(box.state)}">'
    yield f"<title>{_text(box.told)}</title>"
    yield f'<rect class="box" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width}" height="{box.height}" rx="{box.rounded}"/>'
    yield f'<text x="{middle[0]:.1f}" y="{middle[1] - 3:.1f}" text-anchor="middle">{_text(box.name)}</text>'
    yield f'<text class="sub" x="{middle[0]:.1f}" y="{middle[1] + 14:.1f}" text-anchor="middle">{_text(box.below)}</text>'
    yield "</g>"


def _line(line: Line) -> Iterator[str]:
    taken = " taken" if line.taken else ""
    yield f'<path class="{line.kind}{taken}" d="{line.path}"/>'
    yield f'<polygon class="head{taken}" points="{line.head}"/>'
    if (label := line.label) is not None:
        yield (
            f'<text class="lab" x="{label.x:.1f}" y="{label.y:.1f}" text-anchor="{label.anchor}">{_text(label.text)}'
            f"<title>{_text(label.whole)}</title></text>"
        )


def _text(text: str) -> str:
    """Text that XML takes: markup escaped, what it cannot hold left out."""
    kept = "".join(
        c for c in text if c in "\n\t" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")
    )
    return escape(kept, quote=True)
