"""What a person does to submissions: take one back. What an operator does to its subject is done as to any other."""

from __future__ import annotations

from tenure.model.roles import Permission
from tenure.remote.engine.canceling import cancel_submission
from tenure.remote.model.names import submission_id_of
from tenure.ui import places
from tenure.ui.actions.action import Action, Done, Values, reason
from tenure.ui.visitor import Visitor


def cancel(visitor: Visitor, uid: int) -> Action:
    """Take a submission back."""
    name = submission_id_of(uid)

    async def perform(values: Values, key: str) -> Done:
        done = await visitor.act(
            Permission.SUBMIT, lambda caller: cancel_submission(caller, name, values["reason"].strip(), key)
        )
        seq = done.submission.seq
        return Done(f"{name} is canceled.", places.submission(uid, seq), f"Fact #{seq}")

    says = "Its product is told at once that it failed, canceled. The node ends its job at its next poll."
    return Action("Cancel the submission", "Cancel for good", perform, name, says, (reason(),), "danger")
