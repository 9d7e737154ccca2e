"""The report of ``verify`` for people."""

from __future__ import annotations

from rich.console import RenderableType

from tenure.engine.verify import Report
from tenure.model import euid
from tenure.terminal.listing import table


def verification(report: Report) -> list[RenderableType]:
    """What was checked, and the first divergence of each kind."""
    checked = f"{report.subjects:,} subjects, {report.attempts:,} attempts, {report.facts:,} facts, {report.owners:,} other threads"
    if report.runs:
        checked += f", {report.runs:,} runs"
    if report.submissions:
        checked += f", {report.submissions:,} submissions"
    if report.clean:
        return [f"Verified {checked}: rows and facts tell the same story."]
    rows = [
        (kind, report.found[kind], euid.format_euid(euid.SUBJECT, first.thread), first.message, dict(first.evidence))
        for kind, first in report.first.items()
    ]  # fmt: skip
    return [
        f"Checked {checked}: {report.found.total():,} divergence(s).",
        table(["kind", ">times", "!first in", "what", "evidence"], rows),
        "Rows or facts were changed behind Tenure's back, or a defect of Tenure shows: keep the database as it is.",
    ]
