"""Which runnables of a run are looked at where not all can be: of the items of a map those in trouble first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice

from tenure.flow.model.bits import numbers_in
from tenure.flow.model.names import Runnable
from tenure.flow.model.state import Phase, RunState, StepState


def shown(state: RunState, most: int, skip: Mapping[str, int] | None = None) -> list[str]:
    """The keys of what stands for the steps of a run this time round; of a map at most so many of its items.

    ``skip`` says by step how many of its items come before those.
    """
    before = skip or {}
    found: list[str] = []
    for name, step in state.steps.items():
        if step.phase not in (Phase.IDLE, Phase.REACHED):
            first = before.get(name, 0)
            found += islice(_keys(Runnable(name, step.iteration), step), first, first + most)
    return found


def waited_for(state: RunState, most: int) -> list[str]:
    """The keys of at most so many runnables that a run waits for, each step's own first."""
    single: list[str] = []
    items: list[Iterator[str]] = []
    for runnable in state.active:
        step = state.under_way(runnable)
        if step is None or step.phase is Phase.OPEN:
            continue
        if step.items is None:
            single.append(str(runnable))
        else:
            items.append(_named(runnable, _open(step)))
    return list(islice(chain(single, *items), most))


def _keys(runnable: Runnable, step: StepState) -> Iterator[str]:
    if step.items is None:
        return iter((str(runnable),))
    items = step.items
    return _named(
        runnable, numbers_in(items.error), _open(step), numbers_in(items.canceled), numbers_in(items.ok)
    )  # fmt: skip


def _open(step: StepState) -> Iterator[int]:
    items = step.items
    return numbers_in(((1 << items.planned) - 1) & ~items.ended) if items is not None else iter(())


def _named(runnable: Runnable, *numbers: Iterator[int]) -> Iterator[str]:
    return (str(Runnable(runnable.step, runnable.iteration, number)) for number in chain(*numbers))
