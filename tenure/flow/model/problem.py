"""One thing that is wrong with a definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenure.flow.model.errors import InvalidDefinition


@dataclass(frozen=True, slots=True)
class Problem:
    """A stable code, the step and the place in it, and a sentence. ``step`` is None for the definition itself."""

    code: str
    step: str | None
    place: str
    message: str

    def as_dict(self) -> dict[str, Any]:
        """The problem as plain data."""
        return {"code": self.code, "step": self.step, "place": self.place, "message": self.message}

    def __str__(self) -> str:
        where = f"step {self.step!r}" if self.step is not None else "the workflow"
        return f"{where}{f', {self.place}' if self.place else ''}: {self.message}"


def refuse(problems: Sequence[Problem], name: object = None) -> InvalidDefinition:
    """The error that tells of all of them, the first in its sentence."""
    many = f" There are {len(problems)} problems." if len(problems) > 1 else ""
    what = f"Workflow {name!r}" if isinstance(name, str) and name else "The workflow definition"
    return InvalidDefinition(
        f"{what} cannot be registered: {str(problems[0]).removesuffix('.')}.{many}",
        "Correct each of the problems and register it again; nothing was changed.",
        problems=[problem.as_dict() for problem in problems],
    )
