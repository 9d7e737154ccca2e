"""Routes: where to go when a step has ended (design 02, Model)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tenure.flow.model.condition import Condition
from tenure.flow.model.names import END, Frozen, Name


def _one_or_many(value: Any) -> Any:
    return [value] if isinstance(value, dict | Condition) else value


Conditions = Annotated[tuple[Condition, ...], BeforeValidator(_one_or_many)]
"""One condition or several, of which all must hold."""


class Route(Frozen):
    """Where to go next, and when. Without ``when`` it is the fallback; with ``limit`` it leads back, so often at most.

    ``when`` holds where all of its conditions do. ``to = "end"`` ends the branch.
    """

    to: Name
    when: Conditions = ()
    limit: int | None = Field(None, ge=1, le=1000)

    @property
    def fallback(self) -> bool:
        """True without a condition and without a limit: it can always be taken."""
        return not self.when and self.limit is None

    @property
    def ends(self) -> bool:
        """True where it ends the branch."""
        return self.to == END


def _route(value: Any) -> Any:
    return {"to": value} if isinstance(value, str) else value


def as_routes(value: Any) -> Any:
    """One route or several, each perhaps by its name alone, as a list."""
    if isinstance(value, str | dict | Route):
        value = [value]
    return [_route(one) for one in value] if isinstance(value, list | tuple) else value


Routes = Annotated[tuple[Route, ...], BeforeValidator(as_routes)]
