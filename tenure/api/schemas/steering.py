"""What is asked of workflows, runs and schedules."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from tenure.api.schemas.fields import RunEuid, SubjectEuid
from tenure.api.schemas.guards import KeyedBody
from tenure.flow.model.names import Name, WorkflowName
from tenure.flow.model.schedule import ScheduleSpec
from tenure.model.queue import Key
from tenure.model.requests import ShortText, Text

_RUN = {"run_euid": "FX-YGJ24"}


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [fields]})


class StartRunBody(KeyedBody):
    """Start a run. The same key is the same run."""

    model_config = _example(workflow="order", input={"order": 4711}, key="order-4711")

    workflow: WorkflowName
    input: Any = Field(default_factory=dict, description="What its steps are given to choose from.")
    key: ShortText | None = Field(None, description="Names the run within its workflow.")
    version: int | None = Field(None, ge=1, lt=2**31, description="Not the newest, but this one.")
    root_euid: SubjectEuid | None = Field(None, description="The subject that the run is about.")
    correlation_id: ShortText | None = None


class RunBody(KeyedBody):
    """An action on a run."""

    run_euid: RunEuid
    expected_seq: int | None = Field(None, ge=0, lt=2**31, description="The length that its thread must have.")


class SignalSubjectBody(KeyedBody):
    """Send a signal to the code of a job."""

    model_config = _example(subject_euid="SX-YGJ24", name="paid", payload={"amount": 12})

    subject_euid: SubjectEuid
    name: Name
    payload: Any = None


class SignalBody(RunBody):
    """Send a signal."""

    model_config = _example(**_RUN, name="paid", payload={"amount": 12})

    name: Name
    payload: Any = None


class ReasonedBody(RunBody):
    """Cancel or pause a run."""

    model_config = _example(**_RUN, reason="the customer withdrew")

    reason: Text | None = None


class ResumeBody(ReasonedBody):
    """Let a paused run, or a pause step, go on."""

    model_config = _example(**_RUN, reason="the stock was counted")

    step: Name | None = None


class DecideBody(RunBody):
    """Approve or reject at the boundary where the run stands."""

    model_config = _example(**_RUN, step="approve", comment="within the budget")

    step: Name | None = Field(None, description="Guards against deciding on another step.")
    comment: Text | None = None


class ReplayBody(KeyedBody):
    """A new run from the input of another."""

    model_config = _example(**_RUN, key="order-4711-again", reason="the address was wrong")

    run_euid: RunEuid
    key: ShortText | None = Field(None, description="The key of the new run.")
    version: int | None = Field(None, ge=1, lt=2**31)
    force: bool = Field(False, description="Although irreversible work is done again; needs a reason.")
    reason: Text | None = None


class RetryBody(KeyedBody):
    """A new run that keeps what another did before the step that failed."""

    model_config = _example(**_RUN, from_step="ship", reason="the carrier is back")

    run_euid: RunEuid
    key: ShortText | None = Field(None, description="The key of the new run.")
    from_step: Name | None = Field(None, description="Else where it failed.")
    force: bool = Field(False, description="Although irreversible work is done again; needs a reason.")
    reason: Text | None = None


class MigrateBody(RunBody):
    """Let a paused run go on under another version."""

    model_config = _example(**_RUN, version=2, reason="a step was added")

    version: int = Field(ge=1, lt=2**31)
    reason: Text | None = None


class DefineWorkflowBody(KeyedBody):
    """Register one version of a workflow."""

    model_config = _example(definition={
        "name": "order", "version": 1, "queue": "shop",
        "steps": [{"name": "reserve", "performer": "task", "action": "shop.reserve"}],
    })  # fmt: skip

    definition: dict[str, Any] = Field(description="As in a TOML or JSON file; it is validated whole.")


class RetireWorkflowBody(KeyedBody):
    """Take a version out of use."""

    model_config = _example(name="order", version=1, reason="replaced by version 2")

    name: WorkflowName
    version: int = Field(ge=1, lt=2**31)
    reason: Text | None = None


class DefineScheduleBody(KeyedBody):
    """Define or change a schedule."""

    model_config = _example(
        schedule={"name": "nightly", "cron": "0 3 * * *", "timezone": "Europe/Berlin", "workflow": "order"}
    )

    schedule: ScheduleSpec


class ScheduleBody(KeyedBody):
    """Let a schedule rest, or go on."""

    model_config = _example(name="nightly", reason="stocktaking")

    name: Key
    reason: Text | None = None
