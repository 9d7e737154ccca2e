"""How a node's agent stands, and what was looked at before it is started."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from tenure.agent.checking import Finding
from tenure.agent.looking import Standing
from tenure.terminal.listing import fields, table
from tenure.terminal.wording import moment, shown


def checked_told(finding: Finding) -> RenderableType:
    """A line for each thing; what is wrong says what to do."""
    mark = Text("ok    ", style="green") if finding.fine else Text("wrong ", style="bold red")
    line = Text.assemble(mark, Text(shown(f"{finding.what}: {finding.said}")))
    return line if finding.fine or not finding.hint else Text.assemble(line, Text(shown(f"\n      {finding.hint}")))


def standing_told(found: Standing) -> list[RenderableType]:
    """Tables of what runs, what is owed, and what needs somebody."""
    problems = "; ".join(found.problems.values()) or "none"
    told: list[RenderableType] = [
        fields({
            "folder": found.folder, "agent": f"process {found.process}" if found.process is not None else "does not run",
            "scheduler": found.scheduler or "not heard of yet", "last contact": moment(found.last_contact),
            "last ring": moment(found.last_ring) if found.last_ring else "never",
            "takes work": f"no, {found.in_the_way}" if found.in_the_way else "yes", "problems": problems,
            "executions": _counted(found.executions), "events": _counted(found.events),
        })
    ]  # fmt: skip
    if found.troubled:
        rows = [(each["execution_id"], each["stage"], each["problem"]) for each in found.troubled]
        told.append(table(["execution", "!stage", "problem"], rows, title="Needs somebody"))
    if found.parked:
        rows = [(each.event["execution_id"], each.event["state"], each.said) for each in found.parked]
        told.append(table(["execution", "!state", "refused"], rows, title="Events that the server refused"))
        told.append("Once the reason is gone: tenure agent resend")
    return told


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items())) or "none"
