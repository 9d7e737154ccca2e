"""``why`` for people: each reason with its code, the evidence, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tenure.model.visibility import Reason
from tenure.terminal.in_commands import in_commands
from tenure.terminal.wording import shown
from tenure.wording.values import listed


def reasons_told(reasons: Sequence[Reason]) -> list[RenderableType]:
    """One block for each reason; what blocks is marked."""
    if not reasons:
        return ["Nothing is in its way."]
    return [_told(reason) for reason in reasons]


def _told(reason: Reason) -> RenderableType:
    head = Text("✗ " if reason.blocking else "✓ ", style="red" if reason.blocking else "green")
    head.append(reason.code, style="bold").append("  ").append(shown(reason.message))
    lines: list[RenderableType] = []
    if reason.evidence:
        evidence = ", ".join(f"{name} {listed(value)}" for name, value in reason.evidence.items())
        lines.append(Text(f"evidence: {evidence}", style="dim"))
    lines.append(Text(f"what would change it: {shown(in_commands(reason.remedy))}"))
    return Group(head, Padding(Group(*lines), (0, 0, 0, 2), expand=False))
