"""What is asked of a run: one model for each verb, with the idempotency key of S1 section 7.3."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tenure.flow.model.facts import Hash, Iteration, Outcome, ParentLink, Ref, Uid
from tenure.flow.model.names import Name, WorkflowName
from tenure.model.json_text import payload_hash
from tenure.model.requests import ShortText, Text

_GUARDS = {"idempotency_key", "expected_seq"}


class RunRequest(BaseModel):
    """The guards that every request to a run may carry."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    idempotency_key: ShortText | None = None
    expected_seq: int | None = None

    def payload_hash(self) -> bytes:
        """SHA-256 of what is asked for, which tells a replay from a conflict."""
        kind = type(self).__name__
        return payload_hash([kind, self.model_dump(mode="json", exclude=_GUARDS, exclude_defaults=True)])


class StartRun(RunRequest):
    """Start a run. ``key`` names it within its workflow: the same key is the same run."""

    key: ShortText | None = None
    input_hash: Hash
    trigger: Name | None = None
    parent: ParentLink | None = None
    root: Uid | None = None


class Ended(BaseModel):
    """How the work of a runnable ended, as the kernel or a child run (``child``: its uid) tells it; no request, but news."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    runnable: str
    outcome: Outcome
    ref: Ref | None = None
    hash: Hash | None = None
    error_class: str | None = None
    error_code: str | None = None
    message: str | None = None
    dead_letter: bool = False
    untouched: bool = False
    child: Uid | None = None


class ResolveStep(RunRequest):
    """Pass the manual boundary: approve, reject, or resume. ``step`` guards against deciding on another one."""

    decision: Literal["approved", "rejected", "resumed"]
    step: Name | None = None
    iteration: Iteration | None = None
    comment: Text | None = None


class PauseRun(RunRequest):
    """Plan nothing more until the run is resumed."""

    reason: Text | None = None


class ResumeRun(RunRequest):
    """Let the run go on: from a pause of the whole, or from a pause step."""

    reason: Text | None = None
    step: Name | None = None

    def as_resolution(self) -> ResolveStep:
        """The same, where what is resumed is a pause step."""
        key = self.idempotency_key
        return ResolveStep(decision="resumed", step=self.step, comment=self.reason, idempotency_key=key)

    def payload_hash(self) -> bytes:
        """That of the resolution: when it comes again, nobody knows which of the two it was."""
        return self.as_resolution().payload_hash()


class SignalRun(RunRequest):
    """Send a signal. Its payload is in the data tier: ``ref`` and ``hash``."""

    name: Name
    ref: Ref | None = None
    hash: Hash | None = None


class CancelRun(RunRequest):
    """Stop the run, and undo what can be undone."""

    reason: Text | None = None


class StartChildRun(RunRequest):
    """Start a child run from the code of a runnable; ``child_key`` tells its children apart."""

    runnable: str
    workflow: WorkflowName
    version: int | None = Field(None, ge=1)
    child_key: ShortText
    input: Any = None


class KeepStep(RunRequest):
    """Keep the result of a step inside a task."""

    runnable: str
    name: ShortText
    ref: Ref | None = None
    hash: Hash | None = None


class AwaitSignal(RunRequest):
    """Take a signal for the code of a runnable, or be woken by it."""

    runnable: str
    name: Name


class ReplayRun(RunRequest):
    """A new run from the input of another. ``force`` needs a reason."""

    key: ShortText | None = None
    force: bool = False
    reason: Text | None = None


class RetryRun(ReplayRun):
    """A new run that keeps what another did before ``from_step`` (None: where it failed)."""

    from_step: Name | None = None


class MigrateRun(RunRequest):
    """Go on under another version of the workflow."""

    reason: Text | None = None
