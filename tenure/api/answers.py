"""How answers are written: the public form of what an operation gave, as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi.responses import Response
from pydantic_core import to_json

from tenure.api.gateway import Gateway
from tenure.engine.caller import Caller
from tenure.model.principal import Identity
from tenure.sdk.public_form import public
from tenure.store.operation import Op

T = TypeVar("T")


class Answer(Response):
    """A JSON answer."""

    media_type = "application/json"

    def __init__(self, content: Any, status_code: int = 200, headers: dict[str, str] | None = None) -> None:
        super().__init__(content, status_code, headers)

    def render(self, content: Any) -> bytes:
        """The content as JSON."""
        return to_json(content)


async def answered(
    gateway: Gateway, identity: Identity, make: Callable[[Caller], Op[T]], *, shown: Callable[[T], Any] = public,
    status: int = 200,
) -> Answer:  # fmt: skip
    """Perform an operation for whoever asks and answer with what it gave."""
    return Answer(shown(await gateway.perform(identity, make)), status)
