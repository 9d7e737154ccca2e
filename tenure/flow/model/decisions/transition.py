"""Which routes a step takes when it ends: the decision that is kept as a fact (design 02, Model)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tenure.flow.model.decisions.unfolding import Unfolding
from tenure.flow.model.facts import RouteFollowed, RunFact
from tenure.flow.model.names import rework_key
from tenure.flow.model.routes import Route
from tenure.flow.model.state import Output

#: So many names fit into a fact, however long they are.
_FEW = 60


@dataclass(frozen=True, slots=True)
class Transition:
    """The routes that are taken, where they lead, and what is done again. ``found`` is False where none could be."""

    found: bool = True
    routes: tuple[int, ...] = ()
    to: tuple[str, ...] = ()
    rework: str | None = None
    reset: tuple[str, ...] = ()

    def told(self, build: Callable[..., RunFact]) -> list[RunFact]:
        """The fact that ``build`` makes of it, and further ones for what is too much for one."""
        fact = build(routes=list(self.routes), rework=self.rework, to=list(self.to), reset=list(self.reset))
        if fact.fits:
            return [fact]
        names = [("reset", name) for name in self.reset] + [("to", name) for name in self.to]
        portions = [names[n : n + _FEW] for n in range(0, len(names), _FEW)]
        more = [RouteFollowed.model_validate(_by_field(portion)) for portion in portions]
        return [build(routes=list(self.routes), rework=self.rework), *more]


def _by_field(names: list[tuple[str, str]]) -> dict[str, list[str]]:
    return {field: [name for of, name in names if of == field] for field in ("reset", "to")}


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
        if _left(unfolding, step, route, on_error=on_error) and all(c.holds(scope) for c in route.when)
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
    return Transition(True, tuple(taken), to, rework_key(step.name, first.to, on_error=on_error), reset)


def _left(unfolding: Unfolding, step: Any, route: Route, *, on_error: bool) -> bool:
    used = unfolding.state.reworks.get(rework_key(step.name, route.to, on_error=on_error), 0)
    return route.limit is None or used < route.limit
