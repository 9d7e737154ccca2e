"""Runs for people: one line for what was done, a page for one, a table for many."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from tenure.flow.engine.reading import RunSnapshot, StepView
from tenure.flow.engine.results import RunResult
from tenure.flow.engine.timeline import Moment
from tenure.flow.rows import RunRow
from tenure.model import euid
from tenure.model.json_text import canonical_json
from tenure.terminal.listing import fields, table
from tenure.terminal.wording import moment, shown, state

_STYLES = {"ok": "green", "error": "red", "active": "blue", "open": "magenta", "canceled": "dim", "idle": "dim"}


def run_outcome(result: RunResult) -> Text:
    """``FX-1T8Z  RUNNING  order version 1``, and whether it had been done before."""
    line = Text(euid.format_euid(euid.RUN, result.run), style="bold").append("  ")
    line.append_text(state(result.status))
    line.append(f"  {result.workflow} version {result.version}")
    if result.boundary is not None:
        line.append(f"  waits at {result.boundary['step']}", style="magenta")
    if result.replayed:
        line.append("  (answered from before: nothing was changed)", style="yellow")
    return line


def runs_told(runs: Sequence[RunRow]) -> RenderableType:
    """A table of runs."""
    if not runs:
        return "There are no such runs."
    rows = [
        (euid.format_euid(euid.RUN, r.uid), r.name, state(r.status), r.run_key, moment(r.started_at),
         moment(r.ended_at) if r.ended_at else "", r.boundary["step"] if r.boundary else "")
        for r in runs
    ]  # fmt: skip
    return table(["!run", "workflow", "!status", "key", "started", "ended", "waits at"], rows)


def run_told(snapshot: RunSnapshot) -> list[RenderableType]:
    """How one run stands."""
    run = snapshot.run
    head = {
        "run": euid.format_euid(euid.RUN, run.uid), "workflow": f"{run.name} version {snapshot.version}",
        "status": state(run.status), "key": run.run_key, "started": moment(run.started_at),
        "ended": moment(run.ended_at) if run.ended_at else None,
        "waits at": run.boundary["step"] if run.boundary else None,
        "failed": _failure(snapshot),
        "parent": euid.format_euid(euid.RUN, run.parent_run) if run.parent_run else None,
        "input": canonical_json(run.input), "output": canonical_json(run.output) if run.ended_at else None,
        "facts that do not fit": len(snapshot.anomalies) or None,
    }  # fmt: skip
    told: list[RenderableType] = [fields({name: value for name, value in head.items() if value is not None}), ""]
    told.append(
        table(["step", "performer", "!phase", "subjects", "planned", "ended", "error"], map(_row, snapshot.steps))
    )
    if snapshot.children:
        told += ["", runs_told(snapshot.children)]
    return told


def timeline_told(moments: Sequence[Moment]) -> RenderableType:
    """What happened, in order."""
    rows = [(m.seq, moment(m.at), m.actor, m.sentence) for m in moments]
    return table([">seq", "!at", "by", "what"], rows)


def _failure(snapshot: RunSnapshot) -> str | None:
    end = snapshot.end or {}
    return f"{end['code']} at {end.get('step') or 'no step'}" if end.get("code") is not None else None


def _row(step: StepView) -> tuple[object, ...]:
    again = f" ×{step.iteration}" if step.iteration > 1 else ""
    if step.items is not None:
        subjects = f"{step.items['ok']} of {step.items['total']} items"
    else:
        subjects = ", ".join(
            [euid.format_euid(euid.SUBJECT, s.subject) for s in step.subjects]
            + [euid.format_euid(euid.RUN, child) for child in step.children]
        )
    return (
        step.step + again, step.performer, Text(step.phase, style=_STYLES.get(step.phase, "")), subjects,
        moment(step.planned_at) if step.planned_at else "", moment(step.ended_at) if step.ended_at else "",
        shown(step.error["code"]) if step.error else "",
    )  # fmt: skip
