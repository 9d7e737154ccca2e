"""The steps of a workflow, one class for each performer, and the routes between them (design 02, Model)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from tenure.flow.model.deciders import Approver
from tenure.flow.model.names import Frozen, Name, Names, Seconds, WorkflowName
from tenure.flow.model.routes import Routes, as_routes
from tenure.model.queue import Key, RetryPolicy

STEP_TEMPLATE = "flow/step/1.0"
RecoveryKind = Literal["none", "irreversible", "compensatable", "transaction"]
#: What a task is given where its step does not say: the input of the run.
WHOLE_INPUT = "$.input"


class _Step(Frozen):
    """What every step has. ``after`` joins: all of them must have succeeded. ``routes`` lead on after success, in
    declared order, the first that holds or, with ``fan_out``, all that do; ``on_error`` after failure.
    """

    name: Name
    description: str = Field("", max_length=2000)
    after: Names = ()
    routes: Routes = ()
    on_error: Routes = ()
    fan_out: bool = False

    @model_validator(mode="before")
    @classmethod
    def _on_ok_is_the_last_route(cls, value: Any) -> Any:
        if isinstance(value, dict) and "on_ok" in value:
            rest = {key: inner for key, inner in value.items() if key != "on_ok"}
            routes, ok = as_routes(rest.get("routes", [])), as_routes(value["on_ok"])
            if isinstance(routes, list | tuple) and isinstance(ok, list):
                return {**rest, "routes": [*routes, *ok]}
        return value

    @model_validator(mode="before")
    @classmethod
    def _order_of_after_means_nothing(cls, value: Any) -> Any:
        after = value.get("after") if isinstance(value, dict) else None
        if isinstance(after, list | tuple | set | frozenset) and all(isinstance(one, str) for one in after):
            return {**value, "after": sorted(set(after))}
        return value

    @property
    def output_key(self) -> str:
        """The key under which ``$.outputs`` has its result."""
        return str(getattr(self, "output", None) or self.name)

    def mappings(self) -> Iterator[tuple[str, Any]]:
        """Its mappings, each with its place."""
        yield from ()


class _Recoverable(_Step):
    """A step with effects: how these are undone when the run fails or is canceled (design 02, recovery policy)."""

    output: Name | None = None
    deadline: Seconds | None = None
    recovery: RecoveryKind = "none"
    compensate_with: Name | None = None

    @model_validator(mode="before")
    @classmethod
    def _compensated_is_compensatable(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("compensate_with") and "recovery" not in value:
            return {**value, "recovery": "compensatable"}
        return value


class Work(Frozen):
    """What a worker is asked to do: in which queue, under which action key, with which payload."""

    queue: Key | None = None
    action: Key | None = None
    template: Key = STEP_TEMPLATE
    input: Any = WHOLE_INPUT
    priority: int = Field(0, ge=-32768, le=32767)
    max_attempts: int | None = Field(None, ge=1, le=32000)
    retry: RetryPolicy | None = None
    slots: int = Field(1, ge=1, le=32000)
    #: Done again, it is to be done by somebody else (S2: "redone by a different contributor").
    by_another: bool = False


class _WorkStep(Work, _Recoverable):
    #: What a dead letter means: the step has failed, or it waits for an operator to requeue it.
    on_dead_letter: Literal["fail", "wait"] = "fail"

    def mappings(self) -> Iterator[tuple[str, Any]]:
        """Its mappings, each with its place."""
        yield "input", self.input


class TaskStep(_WorkStep):
    """Work for a service."""

    performer: Literal["task"]


class HumanStep(_WorkStep):
    """Work for a person."""

    performer: Literal["human"]


class ExternalStep(_WorkStep):
    """Work that is handed to something outside and reported later."""

    performer: Literal["external"]


class ChildRun(Frozen):
    """Another workflow, run as a part of this one. ``key`` tells its runs apart within the parent."""

    workflow: WorkflowName
    version: int | None = Field(None, ge=1)
    input: Any = WHOLE_INPUT
    key: str | None = Field(None, min_length=1, max_length=300)


class ChildStep(ChildRun, _Recoverable):
    """A child run."""

    performer: Literal["child"]

    def mappings(self) -> Iterator[tuple[str, Any]]:
        """Its mappings, each with its place."""
        yield "input", self.input
        yield "key", self.key


class EachTask(Work):
    """A piece of work for each item."""

    performer: Literal["task", "human", "external"]


class EachChild(ChildRun):
    """A child run for each item."""

    performer: Literal["child"]


class MapStep(_Recoverable):
    """The same for each item of a list, ``max_parallel`` at a time. Its output is the list of their results, in order.

    ``join`` ends it when all have ended, or at the first success. It fails once more than ``tolerate`` items (or the
    share ``tolerate_share`` of them) have failed; what failed has null in the output.
    """

    performer: Literal["map"]
    over: Any
    each: Annotated[EachTask | EachChild, Field(discriminator="performer")]
    max_parallel: int = Field(100, ge=1, le=10_000)
    join: Literal["all", "first"] = "all"
    tolerate: int | None = Field(None, ge=0)
    tolerate_share: float | None = Field(None, ge=0, le=1)

    def mappings(self) -> Iterator[tuple[str, Any]]:
        """Its mappings, each with its place."""
        yield "over", self.over
        yield "each.input", self.each.input
        if isinstance(self.each, EachChild):
            yield "each.key", self.each.key

    def tolerated(self, total: int) -> int:
        """How many of ``total`` items may fail."""
        if self.tolerate_share is not None:
            return int(self.tolerate_share * total)
        return self.tolerate or 0


class ApprovalStep(_Step):
    """A person decides: approve goes on, reject is a failure with the code ``rejected``. Its output: who, what, when, why.

    ``approvers`` names who may: principals and roles. Where it names nobody, whoever may operate.
    """

    performer: Literal["approval"]
    output: Name | None = None
    prompt: str = Field("", max_length=2000)
    approvers: tuple[Approver, ...] = ()
    deadline: Seconds | None = None


class PauseStep(_Step):
    """The run stands still here until somebody resumes it."""

    performer: Literal["pause"]
    output: Name | None = None
    prompt: str = Field("", max_length=2000)
    deadline: Seconds | None = None


class WaitStep(_Step):
    """Waits for a while, until a time, or for a signal, whose payload is its output."""

    performer: Literal["wait"]
    output: Name | None = None
    duration: Seconds | None = None
    until: str | None = Field(None, max_length=500)
    signal: Name | None = None
    deadline: Seconds | None = None

    def mappings(self) -> Iterator[tuple[str, Any]]:
        """Its mappings, each with its place."""
        yield "until", self.until


class LogStep(_Step):
    """Writes a line into the run's thread, and goes on. ``message`` is text, a path, or a list of both."""

    performer: Literal["log"]
    message: Any
    level: Literal["debug", "info", "warning", "error"] = "info"

    def mappings(self) -> Iterator[tuple[str, Any]]:
        """Its mappings, each with its place."""
        yield "message", self.message


Step = Annotated[
    TaskStep | HumanStep | ExternalStep | ApprovalStep | PauseStep | WaitStep | ChildStep | MapStep | LogStep,
    Field(discriminator="performer"),
]
PERFORMERS = ("task", "human", "external", "approval", "pause", "wait", "child", "map", "log")
#: Steps that a subject, several subjects or child runs stand for: somebody else reports their end.
DISPATCHED = (TaskStep, HumanStep, ExternalStep, ChildStep, MapStep)
#: Steps that a person resolves: manual boundaries (S3).
MANUAL = (ApprovalStep, PauseStep)
