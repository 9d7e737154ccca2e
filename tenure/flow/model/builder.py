"""Writing a workflow in Python: a small builder over the same model that TOML and JSON are read by.

order = (
    Workflow("order", queue="shop")
    .task("reserve", compensate_with="restock")
    .task("charge", after="reserve", input={"amount": "$.input.amount"}, recovery="irreversible")
    .approval("check", after="charge", on_error=to("reserve", limit=2))
    .task("ship", after="check")
    .task("restock")
    .define()
)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.flow.model.condition import Condition, Operator
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.names import END
from tenure.flow.model.reading import from_data
from tenure.flow.model.routes import Route
from tenure.flow.model.validation import SchemaCheck

RouteLike = str | Route | Mapping[str, Any]


def when(path: str, op: Operator = "exists", value: Any = None) -> Condition:
    """A condition of a route: ``when("$.outputs.score.value", "ge", 0.9)``."""
    return Condition(path=path, op=op, value=value)


def to(step: str, *conditions: Condition, limit: int | None = None) -> Route:
    """A route to ``step``, taken where all conditions hold; with ``limit`` back to an earlier one, so often at most."""
    return Route(to=step, when=conditions, limit=limit)


class Workflow:
    """Collects steps; ``define`` checks the whole and gives the definition, or ``InvalidDefinition`` with every problem.

    ``queue`` is for the steps that name none. What a step may be given is what its performer in
    ``tenure.flow.model.steps`` has.
    """

    def __init__(
        self, name: str, *, version: int = 1, queue: str | None = None, description: str = "",
        input_schema: Mapping[str, Any] | None = None, output: Any = None, deadline: float | str | None = None,
    ) -> None:  # fmt: skip
        self._whole = _given(
            name=name, version=version, queue=queue, description=description, output=output, deadline=deadline,
            input_schema=dict(input_schema) if input_schema is not None else None,
        )  # fmt: skip
        self._steps: list[dict[str, Any]] = []
        self._triggers: list[dict[str, Any]] = []

    def step(
        self, name: str, performer: str = "task", *, after: str | Sequence[str] = (),
        on_ok: RouteLike | None = None, on_error: RouteLike | Sequence[RouteLike] | None = None,
        routes: Sequence[RouteLike] = (), **more: Any,
    ) -> Workflow:  # fmt: skip
        """Add a step of any performer."""
        self._steps.append(
            _given(
                name=name, performer=performer, after=[after] if isinstance(after, str) else list(after),
                routes=[_plain(route) for route in routes], on_ok=_plain(on_ok), on_error=_plain(on_error),
                **{key: _plain(value) for key, value in more.items()},
            )
        )  # fmt: skip
        return self

    def task(self, name: str, **more: Any) -> Workflow:
        """Work for a service."""
        return self.step(name, "task", **more)

    def human(self, name: str, **more: Any) -> Workflow:
        """Work for a person."""
        return self.step(name, "human", **more)

    def external(self, name: str, **more: Any) -> Workflow:
        """Work that is handed to something outside."""
        return self.step(name, "external", **more)

    def approval(self, name: str, **more: Any) -> Workflow:
        """A person approves or rejects."""
        return self.step(name, "approval", **more)

    def pause(self, name: str, **more: Any) -> Workflow:
        """The run stands until it is resumed."""
        return self.step(name, "pause", **more)

    def wait(self, name: str, **more: Any) -> Workflow:
        """Wait for a ``duration``, ``until`` a time, or for a ``signal``."""
        return self.step(name, "wait", **more)

    def child(self, name: str, workflow: str, **more: Any) -> Workflow:
        """Another workflow as a step."""
        return self.step(name, "child", workflow=workflow, **more)

    def map(
        self, name: str, over: Any, *, queue: str | None = None, action: str | None = None, input: Any = "$.item",  # noqa: A002
        workflow: str | None = None, performer: str | None = None, each: Mapping[str, Any] | None = None, **more: Any,
    ) -> Workflow:  # fmt: skip
        """The same for each item of the list ``over``: a task (``queue``, ``action``), or a child run (``workflow``)."""
        kind = performer or ("child" if workflow is not None else "task")
        one = _given(performer=kind, queue=queue, action=action, input=input, workflow=workflow) | dict(each or {})
        return self.step(name, "map", over=over, each=one, **more)

    def log(self, name: str, message: Any, **more: Any) -> Workflow:
        """Write a line into the run's thread."""
        return self.step(name, "log", message=message, **more)

    def trigger(self, name: str, kind: str = "manual", **more: Any) -> Workflow:
        """What starts a run: somebody, an ``event``, or a schedule (``cron`` or ``at``)."""
        self._triggers.append(_given(name=name, kind=kind, **{key: _plain(value) for key, value in more.items()}))
        return self

    def as_data(self) -> dict[str, Any]:
        """What was written so far, as the plain data that TOML or JSON would hold."""
        return {**self._whole, "triggers": self._triggers, "steps": self._steps}

    def define(self, schema_check: SchemaCheck | None = None) -> WorkflowDefinition:
        """The definition, checked whole."""
        return from_data(self.as_data(), schema_check)


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value not in (None, [], "")}


def _plain(value: Any) -> Any:
    if isinstance(value, Route | Condition):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


__all__ = ["END", "Workflow", "to", "when"]
