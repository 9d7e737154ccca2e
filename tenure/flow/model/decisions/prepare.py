"""What a step is given when it starts: its mappings worked out against the data of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tenure.flow.model.commands import Command, StartChild, Submit
from tenure.flow.model.data import Scope
from tenure.flow.model.decisions.unfolding import Unfolding
from tenure.flow.model.facts import MAX_ITEMS
from tenure.flow.model.mapping import MappingFailed
from tenure.flow.model.names import Runnable, line
from tenure.flow.model.state import Output
from tenure.flow.model.steps import ChildRun, LogStep, MapStep, WaitStep, Work
from tenure.flow.model.times import moment
from tenure.model.json_text import canonical_json, payload_hash

_MAX_MESSAGE = 1000
#: So many earlier times round are looked at where work is to be done by another.
_LAST = 20


class CannotStart(Exception):
    """A step cannot be given what it needs: a mapping found nothing, or nothing of use."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Prepared:
    """A step that can start: the hash of its input, and what is to be done for it."""

    step: Any
    runnable: Runnable
    hash: str | None = None
    commands: tuple[Command, ...] = ()
    total: int | None = None
    start: int = 0
    stop: int | None = None
    until: datetime | None = None
    message: str = ""


def prepare(unfolding: Unfolding, step: Any, own: Mapping[str, Output] | None = None) -> Prepared:
    """Work out what ``step`` is given; ``DataNeeded``, or ``CannotStart`` where it cannot be."""
    runnable = Runnable(step.name, unfolding.state.step(step.name).iteration)
    scope = unfolding.scope(own=own or {})
    try:
        if isinstance(step, MapStep):
            return window(unfolding, step, runnable, 0)
        if isinstance(step, WaitStep):
            return Prepared(step, runnable, until=_until(unfolding, step, scope))
        if isinstance(step, LogStep):
            return Prepared(step, runnable, message=_text(scope.evaluate(step.message, "message")))
        if isinstance(step, Work | ChildRun):
            return one(unfolding, step, runnable, scope)
    except MappingFailed as error:
        raise CannotStart("mapping_failed", str(error)) from None
    return Prepared(step, runnable)


def one(unfolding: Unfolding, step: Any, runnable: Runnable, scope: Scope) -> Prepared:
    """A step that one subject or one child run stands for."""
    command, digest = _command(unfolding, step, step, runnable, scope)
    return Prepared(step, runnable, digest, (command,))


def window(unfolding: Unfolding, step: MapStep, runnable: Runnable, start: int, stop: int | None = None) -> Prepared:
    """The items of a map from ``start`` on, as many as may be under way at once."""
    scope = unfolding.scope()
    scope.require(step.over, step.each.input, getattr(step.each, "key", None))
    try:
        items = scope.evaluate(step.over, "over")
        if not isinstance(items, list | tuple):
            raise CannotStart("map_over_no_list", f"over is no list, but {type(items).__name__}")
        if len(items) > MAX_ITEMS:
            raise CannotStart("map_too_long", f"a map has at most {MAX_ITEMS:,} items, and this has {len(items):,}")
        stop = min(len(items), start + step.max_parallel if stop is None else stop)
        commands, digests = [], []
        for index in range(start, stop):
            inner = Scope(scope.state, scope.values, item=items[index], index=index)
            item = Runnable(runnable.step, runnable.iteration, index)
            command, digest = _command(unfolding, step, step.each, item, inner)
            commands.append(command)
            digests.append(digest)
    except MappingFailed as error:
        raise CannotStart("mapping_failed", str(error)) from None
    digest = payload_hash(digests).hex()
    return Prepared(step, runnable, digest, tuple(commands), total=len(items), start=start, stop=stop)


def _command(unfolding: Unfolding, step: Any, work: Any, runnable: Runnable, scope: Scope) -> tuple[Command, str]:
    place = "input" if work is step else "each.input"
    value = scope.evaluate(work.input, place)
    digest = payload_hash(value).hex()
    if isinstance(work, ChildRun):
        key = str(runnable) if work.key is None else _text(scope.evaluate(work.key, place.replace("input", "key")))
        if not key:
            raise CannotStart("mapping_failed", "the key of a child run is empty")
        if work.key is not None and runnable.index is not None:
            key = f"{key[:280]}[{runnable.index}]"  # two items may name the same key and are two children all the same
        child = StartChild(
            runnable, next(unfolding.context.uids), work.workflow, work.version, value, digest, key[:300]
        )
        return child, digest
    submit = Submit(
        runnable, work.performer, str(work.queue or unfolding.definition.queue), work.action or step.name, work.template,
        value, digest, work.priority, work.max_attempts, work.retry, work.slots, unfolding.after(step.deadline),
        parents(unfolding, runnable), _done_by(runnable) if work.by_another else (),
    )  # fmt: skip
    return submit, digest


def _done_by(runnable: Runnable) -> tuple[str, ...]:
    """The same work, as it was done the last times round."""
    first = max(1, runnable.iteration - _LAST)
    return tuple(str(Runnable(runnable.step, n, runnable.index)) for n in range(first, runnable.iteration))


def parents(unfolding: Unfolding, runnable: Runnable) -> tuple[str, ...]:
    """The runnables from which this one follows: those it joins, those that lead to it, itself the time before."""
    state, name = unfolding.state, runnable.step
    before = {edge.source for edge in unfolding.shape.incoming.get(name, ()) if edge.kind == "after"}
    before |= {source for source, step in state.steps.items() if name in step.to}
    found = [
        str(Runnable(n, state.step(n).iteration)) for n in unfolding.shape.names if n in before and state.step(n).ended
    ]
    if runnable.iteration > 1 and name not in unfolding.shape.compensates:
        found.append(str(Runnable(name, runnable.iteration - 1, runnable.index)))
    return tuple(found)


def _until(unfolding: Unfolding, step: WaitStep, scope: Scope) -> datetime | None:
    if step.until is None:
        return unfolding.after(step.duration)
    value = scope.evaluate(step.until, "until")
    at = moment(value)
    if at is None:
        raise CannotStart("bad_time", "until is no time with its zone")
    return at


def _text(value: Any) -> str:
    """A value as a line of text; a list is joined."""
    if isinstance(value, list):
        return "".join(map(_text, value))[:_MAX_MESSAGE]
    return line(value if isinstance(value, str) else canonical_json(value), _MAX_MESSAGE)
