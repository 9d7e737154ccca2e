"""What an operator does to schedules: let them rest, let them go on."""

from __future__ import annotations

from tenure.model.roles import Permission
from tenure.sdk import runs as flow
from tenure.ui import places
from tenure.ui.actions.action import Action, Done, Values, reason
from tenure.ui.visitor import Visitor


def change(visitor: Visitor, name: str, *, enabled: bool) -> Action:
    """Pause a schedule, or let it go on from now."""
    operation = flow.resume_schedule if enabled else flow.pause_schedule

    async def perform(values: Values, _: str) -> Done:
        await visitor.act(Permission.OPERATE, lambda caller: operation(caller, name, reason=values["reason"].strip()))
        return Done(f"{name} {'goes on' if enabled else 'rests'}.", places.SCHEDULES, "See the schedules")

    title, submit, says = (
        ("Resume the schedule", "Resume", "It goes on from now; what fell due while it rested is not made good.")
        if enabled
        else ("Pause the schedule", "Pause", "It starts nothing until it is resumed.")
    )
    return Action(title, submit, perform, name, says, (reason(),))
