"""``@app.task``: functions as work (design 06, SDK). Arguments are validated by the function's own signature."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

from tenure.engine.actions.submit import submit
from tenure.flow.engine.registering import register_all
from tenure.flow.model.builder import Workflow
from tenure.model.errors import AlreadyExists, InvalidRequest
from tenure.model.queue import JOB_TEMPLATE
from tenure.model.requests import SubmitSubject, validated
from tenure.sdk.http.operations import submit_one
from tenure.sdk.signature import signature_of

if TYPE_CHECKING:
    from tenure.sdk.client import AsyncTenure, Tenure

P = ParamSpec("P")
R = TypeVar("R")

EXECUTORS = ("async", "thread", "process")


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """How submissions of a task are made, and how it is run.

    ``executor``: ``async`` for coroutine functions, ``thread`` or ``process`` for plain ones. ``key_limit`` bounds how
    many jobs with the same ``limit_key(arguments)`` one worker process runs at once.
    """

    queue: str = "default"
    template: str = JOB_TEMPLATE
    max_attempts: int | None = None
    priority: int = 0
    executor: str | None = None
    limit_key: Callable[[Mapping[str, Any]], str] | None = None
    key_limit: int = 1
    submit: Mapping[str, Any] = field(default_factory=dict)


class Task(Generic[P, R]):
    """A function that can be submitted as work. Calling it calls the function, here and now."""

    def __init__(self, function: Callable[P, R], key: str, options: TaskOptions, client: Tenure | AsyncTenure) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.key = key
        self.options = options
        self._client = client
        self.is_async = inspect.iscoroutinefunction(function)
        self.executor = options.executor or ("async" if self.is_async else "thread")
        if self.executor not in EXECUTORS or (self.executor == "async") != self.is_async:
            raise InvalidRequest(
                f"Task {key!r} cannot run on the executor {self.executor!r}.",
                "Coroutine functions run on 'async', plain functions on 'thread' or 'process'.",
            )
        self._signature = signature_of(function, key)
        self.job_parameter = self._signature.job_parameter
        self.transaction_parameter = self._signature.transaction_parameter
        """The parameter that takes a psycopg connection: what is written through it commits with the job's completion."""
        taken = self.job_parameter or self.transaction_parameter
        if self.executor == "process" and (taken is not None or "<" in function.__qualname__):
            raise InvalidRequest(
                f"Task {key!r} cannot run in another process: only names and arguments can go there.",
                "Define the function at the top of a module, and take no Job and no connection.",
            )

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function here and now."""
        return self.function(*args, **kwargs)

    def with_options(self, **submit: Any) -> Task[P, R]:
        """The same task with other fields of ``SubmitSubject``: priority, ready_at, idempotency_key, queue_key, ..."""
        copy = cast("Task[P, R]", object.__new__(Task))
        copy.__dict__.update(self.__dict__)
        copy.options = replace(self.options, submit={**self.options.submit, **submit})
        return copy

    def submit(self, /, *args: Any, tx: Any = None, **kwargs: Any) -> Any:
        """Submit a call: an ``ActionResult`` from ``Tenure``, an awaitable of one from ``AsyncTenure``.

        With ``tx`` (a psycopg connection, a SQLAlchemy session, or ``app.transaction()``) it commits with the caller's
        data. Arguments that do not fit the signature raise ``InvalidPayload``.
        """
        client: Any = self._client if tx is None else self._client.within(tx)
        request = self.request(*args, **kwargs)
        if client.address is not None:
            return client.send(submit_one(request))
        return client.perform(lambda caller: submit(caller, request))

    def request(self, /, *args: Any, **kwargs: Any) -> SubmitSubject:
        """The request to submit that a call stands for, for ``submit_many``."""
        options = self.options
        fields: dict[str, Any] = {
            "template": options.template, "queue_key": options.queue, "next_action_key": self.key,
            "properties": self.properties(*args, **kwargs), "priority": options.priority,
        }  # fmt: skip
        if options.max_attempts is not None:
            fields["max_attempts"] = options.max_attempts
        return validated(SubmitSubject, **(fields | dict(options.submit)))

    def properties(self, /, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The arguments of a call as JSON-ready properties."""
        return self._signature.properties(args, kwargs)

    def arguments(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments to call the function with, from a subject's properties; ``InvalidPayload`` if they do not fit."""
        return self._signature.arguments(properties)

    def result(self, value: Any) -> Any:
        """What the function returned, as JSON-ready data."""
        return self._signature.result(value)


class TaskRegistry:
    """The tasks of a client, by key."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task[..., Any]] = {}
        self.workflows: dict[tuple[str, int], Workflow] = {}

    def workflow(
        self, name: str, *, version: int = 1, queue: str | None = None, description: str = "",
        input_schema: Mapping[str, Any] | None = None, output: Any = None, deadline: float | str | None = None,
    ) -> Workflow:  # fmt: skip
        """Begin a workflow of this client's: add its steps to what this returns (``tenure.flow.model.builder``).

        Workers of the client define it when they start, or ``define_workflows`` does. Its task steps are done by the
        tasks whose keys are their actions; a step's action is its name where it names none.
        """
        if (name, version) in self.workflows:
            raise AlreadyExists(
                f"There is a workflow {name!r} in version {version} already.", "Give it another version."
            )
        made = Workflow(
            name, version=version, queue=queue, description=description, input_schema=input_schema, output=output,
            deadline=deadline,
        )  # fmt: skip
        self.workflows[name, version] = made
        return made

    def define_workflows(self) -> Any:
        """Define the workflows of this client: a list of them from ``Tenure``, an awaitable from ``AsyncTenure``."""
        return cast("Any", self).perform(lambda caller: register_all(caller, list(self.workflows.values())))

    def task(
        self, *, queue: str = "default", key: str | None = None, template: str = JOB_TEMPLATE,
        max_attempts: int | None = None, priority: int = 0, executor: str | None = None,
        limit_key: Callable[[Mapping[str, Any]], str] | None = None, key_limit: int = 1,
    ) -> Callable[[Callable[P, R]], Task[P, R]]:  # fmt: skip
        """Make a function a task. Its key, ``module.function`` by default, is the ``next_action_key`` of its subjects."""

        def register(function: Callable[P, R]) -> Task[P, R]:
            name = key or _key_of(function)
            validated(SubmitSubject, queue_key=queue, template=template, next_action_key=name)
            if name in self.tasks:
                raise AlreadyExists(f"There is a task {name!r} already.", "Give one of the two another key.")
            options = TaskOptions(queue, template, max_attempts, priority, executor, limit_key, key_limit)
            task = Task(function, name, options, cast("Any", self))
            self.tasks[name] = task
            return task

        return register


def _key_of(function: Callable[..., Any]) -> str:
    """``module.function``; for a script, the name under which a worker would import it."""
    if "<lambda>" in function.__qualname__:
        raise InvalidRequest("A lambda has no name that its subjects could carry.", "Give the task a key, or use def.")
    module = function.__module__
    if module == "__main__":
        main = sys.modules["__main__"]
        spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
        module = spec.name if spec is not None else Path(file).stem if file else module
    # A key begins with a letter or a digit.
    return f"{module}.{function.__qualname__}".replace("<locals>.", "").lstrip("_")
