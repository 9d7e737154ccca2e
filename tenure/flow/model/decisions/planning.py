"""Intent: what is planned is appended, and the work that comes of it asked for."""

from __future__ import annotations

from typing import Any

from tenure.flow.model.commands import SetTimer, StartChild
from tenure.flow.model.decisions.prepare import Prepared
from tenure.flow.model.decisions.unfolding import Unfolding
from tenure.flow.model.facts import Child, ChildStarted, Planned, RunnablesPlanned, in_portions
from tenure.flow.model.steps import WaitStep
from tenure.model.json_text import instant


def plan(unfolding: Unfolding, prepared: list[Prepared], *, compensates: bool = False) -> None:
    """Append what is planned, and ask for the work."""
    entries = [_entry(unfolding, one, compensates=compensates) for one in prepared]
    for portion in in_portions(entries):
        unfolding.append(RunnablesPlanned(runnables=portion))
    for one, entry in zip(prepared, entries, strict=True):
        _children(unfolding, one)
        unfolding.command(*one.commands)
        if one.start == 0:
            _timers(unfolding, one, entry)


def _entry(unfolding: Unfolding, one: Prepared, *, compensates: bool) -> Planned:
    step = one.step
    deadline = unfolding.after(getattr(step, "deadline", None)) if one.start == 0 else None
    return Planned(
        step=step.name, iteration=one.runnable.iteration, kind=step.performer,
        output=step.output_key if step.output_key != step.name else None, hash=one.hash,
        deadline=instant(deadline) if deadline else None, recovery=None if compensates else _recovery(step),
        compensates=compensates,
        signal=step.signal if isinstance(step, WaitStep) else None, until=instant(one.until) if one.until else None,
        total=one.total, start=one.start, stop=one.stop,
    )  # fmt: skip


def _recovery(step: Any) -> str | None:
    kind = getattr(step, "recovery", "none")
    return kind if kind != "none" else None


def _timers(unfolding: Unfolding, one: Prepared, entry: Planned) -> None:
    if one.until is not None:
        unfolding.command(SetTimer(f"wait:{one.runnable}", one.until))
    deadline = unfolding.after(getattr(one.step, "deadline", None))
    if entry.deadline is not None and deadline is not None:
        unfolding.command(SetTimer(f"deadline:{one.runnable}", deadline))


def _children(unfolding: Unfolding, one: Prepared) -> None:
    started = [command for command in one.commands if isinstance(command, StartChild)]
    children = [Child(run=c.run, child_key=c.child_key, index=c.runnable.index) for c in started]
    for portion in in_portions(children):
        unfolding.append(
            ChildStarted(
                step=one.runnable.step, iteration=one.runnable.iteration, workflow=started[0].workflow,
                version=started[0].version, children=portion, hash=one.hash,
            )
        )  # fmt: skip
