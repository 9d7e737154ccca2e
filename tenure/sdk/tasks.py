"""``@app.task``: functions as work (design 06, SDK). Arguments are validated by the function's own signature."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, get_type_hints

from pydantic import BaseModel as Model
from pydantic import ConfigDict, TypeAdapter, ValidationError, create_model

from tenure.model.errors import AlreadyExists, InvalidPayload, InvalidRequest
from tenure.model.requests import SubmitSubject, validated
from tenure.sdk.job import Job

if TYPE_CHECKING:
    from tenure.sdk.client import AsyncTenure, Tenure

P = ParamSpec("P")
R = TypeVar("R")

EXECUTORS = ("async", "thread", "process")
JOB_TEMPLATE = "task/job/1.0"


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
        self.job_parameter, self._model = _arguments(function, key)
        returns = get_type_hints(function).get("return", Any)
        self._returns: TypeAdapter[Any] = TypeAdapter(Any if returns is None else returns)
        self.plain = not self._model.model_fields

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function here and now."""
        return self.function(*args, **kwargs)

    def with_options(self, **submit: Any) -> Task[P, R]:
        """The same task with other fields of ``SubmitSubject``: priority, ready_at, idempotency_key, queue_key, ..."""
        copy = cast("Task[P, R]", object.__new__(Task))
        copy.__dict__.update(self.__dict__)
        copy.options = replace(self.options, submit={**self.options.submit, **submit})
        return copy

    def submit(self, *args: Any, tx: Any = None, **kwargs: Any) -> Any:
        """Submit a call: an ``ActionResult`` from ``Tenure``, an awaitable of one from ``AsyncTenure``.

        With ``tx`` (a psycopg connection, a SQLAlchemy session, or ``app.transaction()``) it commits with the caller's
        data. Arguments that do not fit the signature raise ``InvalidPayload``.
        """
        client: Any = self._client if tx is None else self._client.within(tx)
        request = self.request(*args, **kwargs)
        return client.submit(**{name: getattr(request, name) for name in request.model_fields_set})

    def request(self, *args: Any, **kwargs: Any) -> SubmitSubject:
        """The request to submit that a call stands for, for ``submit_many``."""
        options = self.options
        fields: dict[str, Any] = {
            "template": options.template, "queue_key": options.queue, "next_action_key": self.key,
            "properties": self.properties(*args, **kwargs), "priority": options.priority,
        }  # fmt: skip
        if options.max_attempts is not None:
            fields["max_attempts"] = options.max_attempts
        return validated(SubmitSubject, **(fields | dict(options.submit)))

    def properties(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The arguments of a call as JSON-ready properties."""
        try:
            bound = _bind(self.function, self.job_parameter, args, kwargs)
            return self._model(**bound).model_dump(mode="json")
        except (TypeError, ValidationError) as error:
            raise _misfit(self.key, error) from None

    def arguments(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments to call the function with, from a subject's properties; ``InvalidPayload`` if they do not fit."""
        try:
            model = self._model.model_validate(properties)
        except ValidationError as error:
            raise _misfit(self.key, error) from None
        return dict(model.__dict__)

    def result(self, value: Any) -> Any:
        """What the function returned, as JSON-ready data."""
        if value is None or isinstance(value, bool | int | str):
            return value
        try:
            return self._returns.dump_python(value, mode="json")
        except Exception as error:
            raise InvalidPayload(
                f"Task {self.key!r} returned a {type(value).__name__} that cannot be written as JSON: {error}.",
                "Return JSON-ready data, or keep it in the payload store and return its reference.",
            ) from error


class TaskRegistry:
    """The tasks of a client, by key."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task[..., Any]] = {}

    def task(
        self, *, queue: str = "default", key: str | None = None, template: str = JOB_TEMPLATE,
        max_attempts: int | None = None, priority: int = 0, executor: str | None = None,
        limit_key: Callable[[Mapping[str, Any]], str] | None = None, key_limit: int = 1,
    ) -> Callable[[Callable[P, R]], Task[P, R]]:  # fmt: skip
        """Make a function a task. Its key, ``module.function`` by default, is the ``next_action_key`` of its subjects."""

        def register(function: Callable[P, R]) -> Task[P, R]:
            name = key or f"{function.__module__}.{function.__qualname__}".replace("<locals>.", "")
            if name in self.tasks:
                raise AlreadyExists(f"There is a task {name!r} already.", "Give one of the two another key.")
            options = TaskOptions(queue, template, max_attempts, priority, executor, limit_key, key_limit)
            task = Task(function, name, options, cast("Any", self))
            self.tasks[name] = task
            return task

        return register


def _arguments(function: Callable[..., Any], key: str) -> tuple[str | None, type[Model]]:
    hints = get_type_hints(function)
    job_parameter = None
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints.get(name, Any)
        if hint is Job:
            job_parameter = name
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise InvalidRequest(
                f"Task {key!r} takes {parameter}, which has no name to be kept under.", "Use named parameters only."
            )
        else:
            fields[name] = (hint, ... if parameter.default is parameter.empty else parameter.default)
    model: type[Model] = create_model(f"{key}.arguments", __config__=ConfigDict(extra="forbid"), **fields)
    return job_parameter, model


def _bind(function: Callable[..., Any], job_parameter: str | None, args: Any, kwargs: Any) -> dict[str, Any]:
    signature = inspect.signature(function)
    if job_parameter is not None:
        left = [p for name, p in signature.parameters.items() if name != job_parameter]
        signature = signature.replace(parameters=left)
    return dict(signature.bind(*args, **kwargs).arguments)


def _misfit(key: str, error: Exception) -> InvalidPayload:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        text = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    else:
        text = str(error)
    return InvalidPayload(
        f"The arguments do not fit task {key!r}: {text}.", "Give what its signature asks for.", task=key
    )
