"""Which routes a step takes when it ends: the decision that is kept as a fact (design 02, Model)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenure.flow.model.decisions.unfolding import Unfolding
from tenure.flow.model.state import Output
from tenure.flow.model.steps import Route


@dataclass(frozen=True, slots=True)
class Transition:
    """The routes that are taken, where they lead, and what is done again. ``found`` is False where none could be."""

    found: bool = True
    routes: tuple[int, ...] = ()
    to: tuple[str, ...] = ()
    rework: str | None = None
    reset: tuple[str, ...] = ()

    def fields(self) -> dict[str, Any]:
        """As facts carry it."""
        return {
            "routes": list(self.routes), "to": list(self.to), "rework": self.rework, "reset": list(self.reset),
        }  # fmt: skip


NOWHERE = Transition()


def transition(unfolding: Unfolding, step: Any, *, on_error: bool, own: Mapping[str, Output]) -> Transition:
    """The first route that holds in declared order, the one without condition last; all that hold with ``fan_out``.

    A route back whose limit is used up does not hold. After failure there must be a route, after success there need be
    none. Raises ``DataNeeded``.
    """
    routes: tuple[Route, ...] = step.on_error if on_error else step.routes
    if not routes:
        return Transition(found=not on_error)
    scope = unfolding.scope(own=own)
    scope.require([[c.path, c.value] for route in routes for c in route.when])
    holding = [
        number for number, route in enumerate(routes)
        if _left(unfolding, step, number, route, on_error=on_error) and all(c.holds(scope) for c in route.when)
    ]  # fmt: skip
    if step.fan_out and not on_error:
        taken = holding
    else:
        conditional = [number for number in holding if not routes[number].fallback]
        taken = (conditional or holding)[:1]
    if not taken:
        return Transition(found=False)
    to = tuple(dict.fromkeys(routes[number].to for number in taken if not routes[number].ends))
    first = routes[taken[0]]
    if first.limit is None:
        return Transition(True, tuple(taken), to)
    behind = unfolding.shape.behind(first.to)
    reset = tuple(name for name in unfolding.shape.names if name in behind)
    return Transition(True, tuple(taken), to, _key(step, taken[0], on_error=on_error), reset)


def _left(unfolding: Unfolding, step: Any, number: int, route: Route, *, on_error: bool) -> bool:
    used = unfolding.state.reworks.get(_key(step, number, on_error=on_error), 0)
    return route.limit is None or used < route.limit


def _key(step: Any, number: int, *, on_error: bool) -> str:
    return f"{step.name}.{'on_error' if on_error else 'routes'}[{number}]"
