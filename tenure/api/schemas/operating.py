"""What operators and admins ask of subjects and leases (S1 section 10.2)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, ConfigDict, Field

from tenure.api.schemas.fields import HoldEuid, LeaseEuid, SubjectEuid
from tenure.api.schemas.guards import GuardedBody
from tenure.model.queue import Key
from tenure.model.requests import Text
from tenure.model.states import Resolution


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [fields]})


_SUBJECT = {"subject_euid": "SX-YGJ24"}


class SubjectBody(GuardedBody):
    """An action on a subject."""

    subject_euid: SubjectEuid

    def details(self) -> dict[str, Any]:
        """What is said besides which subject."""
        return self.given("subject_euid", "hold_euid")


class HoldBody(SubjectBody):
    """Stop the line for a subject (S1 section 8.7)."""

    model_config = _example(**_SUBJECT, hold_code="INTEGRITY", reason="broken seal")

    hold_code: Key = "OPERATOR"
    reason: Text


class ReleaseHoldBody(SubjectBody):
    """Let go of one hold, or of the only active one."""

    model_config = _example(**_SUBJECT, reason="the seal was replaced")

    hold_euid: HoldEuid | None = Field(None, description="Which one, where there are several.")
    reason: Text | None = None


class RequeueBody(SubjectBody):
    """Route a subject, or route it again. What is terminal needs ``reopen``, which only an admin may."""

    model_config = _example(**_SUBJECT, queue_key="extraction", reason="the reagent was replaced")

    queue_key: Key | None = Field(None, description="Another queue; else the one that it is next in.")
    next_action_key: Key | None = None
    priority: int | None = Field(None, ge=-32768, le=32767)
    ready_at: AwareDatetime | None = None
    reason: Text | None = None
    reopen: bool = Field(False, description="Run a terminal subject once more (admin).")


class CancelBody(SubjectBody):
    """End a subject for good."""

    model_config = _example(**_SUBJECT, reason="withdrawn by the sender")

    reason: Text | None = None


class ResolveBody(SubjectBody):
    """Close the open dead letter of a subject without running it again."""

    model_config = _example(**_SUBJECT, resolution="IGNORED", reason="the sample was sent again")

    resolution: Literal[Resolution.IGNORED, Resolution.CANCELED] = Resolution.IGNORED
    reason: Text


class ExpireBody(GuardedBody):
    """End a lease that ran out; ``force`` ends a live one."""

    model_config = _example(lease_euid="LX-YGJ48", force=True, reason="the machine burnt down")

    lease_euid: LeaseEuid
    force: bool = False
    reason: Text | None = None
