"""What a task takes and gives, by the function's own signature: calls become properties, properties become calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, cast, get_origin, get_type_hints

import psycopg
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError
from typing_extensions import TypedDict

from tenure.model.errors import InvalidPayload, InvalidRequest
from tenure.sdk.job import Job

_OWN = frozenset({"tx"})
_EXACT = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Signature:
    """The arguments of one task as a pydantic model, and the type of its result."""

    key: str
    parameters: inspect.Signature
    job_parameter: str | None
    transaction_parameter: str | None
    """The one that takes a psycopg connection, whose transaction the job's completion is part of."""
    model: type[BaseModel]
    """Its fields are numbered, so that any name will do for an argument."""
    call: TypeAdapter[dict[str, Any]]
    """The same as a plain dict, which takes a seventh of the time to make."""
    returns: TypeAdapter[Any]

    def properties(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call as JSON-ready properties."""
        try:
            bound = self.parameters.bind(*args, **kwargs).arguments
            return self.model.model_validate(bound).model_dump(mode="json", by_alias=True)
        except (TypeError, ValidationError, PydanticSerializationError) as error:
            raise self._misfit(error) from None

    def arguments(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments to call the function with."""
        try:
            return self.call.validator.validate_python(properties)  # type: ignore[no-any-return]
        except ValidationError as error:
            raise self._misfit(error) from None

    def result(self, value: Any) -> Any:
        """What the function returned, as JSON-ready data."""
        if value is None or isinstance(value, bool | int | str):
            return value
        try:
            return self.returns.dump_python(value, mode="json")
        except Exception as error:
            raise InvalidPayload(
                f"Task {self.key!r} returned a {type(value).__name__} that cannot be written as JSON: {error}.",
                "Return JSON-ready data, or keep it in the payload store and return its reference.",
            ) from error

    def _misfit(self, error: Exception) -> InvalidPayload:
        text = str(error)
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            text = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        return InvalidPayload(
            f"The arguments do not fit task {self.key!r}: {text}.", "Give what its signature asks for.", task=self.key
        )


def signature_of(function: Callable[..., Any], key: str) -> Signature:
    """Read a function's signature; ``InvalidRequest`` where its arguments have no names or types that can be kept."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InvalidRequest(
            f"Task {key!r} is annotated with what is unknown where it is defined: {error}.",
            "Annotate with types that can be looked up in the function's module.",
        ) from error
    parameters = inspect.signature(function)
    job_parameter = transaction_parameter = None
    arguments: dict[str, tuple[Any, Any]] = {}
    for name, parameter in parameters.parameters.items():
        hint = hints.get(name, Any)
        if hint is Job:
            job_parameter = name
        elif (get_origin(hint) or hint) in (psycopg.Connection, psycopg.AsyncConnection):
            transaction_parameter = name
            if inspect.iscoroutinefunction(function) != ((get_origin(hint) or hint) is psycopg.AsyncConnection):
                raise InvalidRequest(
                    f"Task {key!r} takes a connection of the other kind.",
                    "A coroutine function takes a psycopg.AsyncConnection, a plain one a psycopg.Connection.",
                )
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise InvalidRequest(
                f"Task {key!r} takes {parameter}, which has no name to be kept under.", "Use named parameters only."
            )
        elif name in _OWN:
            raise InvalidRequest(
                f"Task {key!r} takes {name!r}, which submit() takes for itself.", "Give the parameter another name."
            )
        else:
            arguments[name] = (hint, ... if parameter.default is parameter.empty else parameter.default)
    left = [p for name, p in parameters.parameters.items() if name not in (job_parameter, transaction_parameter)]
    model, call = _forms(key, arguments)
    return Signature(
        key, parameters.replace(parameters=left), job_parameter, transaction_parameter, model, call, _returns(hints)
    )


def _forms(
    key: str, arguments: Mapping[str, tuple[Any, Any]]
) -> tuple[type[BaseModel], TypeAdapter[dict[str, Any]]]:  # fmt: skip
    """The arguments of a task, each with its type and default (``...`` where it has none), as a model and as a dict."""

    def field(name: str) -> Any:
        # Each form has its own: some versions of pydantic add to the field that a model is made with.
        return Field(arguments[name][1], alias=name)

    try:
        fields: dict[str, Any] = {
            f"argument_{number}": (arguments[name][0], field(name)) for number, name in enumerate(arguments)
        }
        model: type[BaseModel] = create_model(f"{key}.arguments", __config__=_EXACT, **fields)
        items = {name: Annotated[hint, field(name)] for name, (hint, _) in arguments.items()}
        call = cast("Any", TypedDict)(
            f"{key}.arguments",
            {name: item if arguments[name][1] is ... else NotRequired[item] for name, item in items.items()},
        )
        call.__pydantic_config__ = _EXACT
        return model, TypeAdapter(call)
    except PydanticUserError as error:
        raise InvalidRequest(
            f"Task {key!r} takes what cannot be kept as JSON: {error.message}.", "Take plain data or pydantic models."
        ) from error


def _returns(hints: Mapping[str, Any]) -> TypeAdapter[Any]:
    returns = hints.get("return", Any)
    try:
        return TypeAdapter(Any if returns is None else returns)
    except PydanticUserError:  # a type that pydantic does not know: its values are looked at one by one
        return TypeAdapter(Any)
