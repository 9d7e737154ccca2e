"""Who asks, of which tenant, of which store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, runtime_checkable

from tenure.model.decisions.unfolding import Unfolding
from tenure.model.result import ActionResult
from tenure.model.roles import Role
from tenure.model.thread import SubjectThread
from tenure.model.visibility import Reason
from tenure.model.worker import Worker
from tenure.store.operation import Op
from tenure.store.port import Store
from tenure.store.records import Finish


@dataclass(frozen=True, slots=True)
class Caller:
    """The identity and the store under which actions run. ``actor`` is a principal such as ``user:ada``."""

    store: Store
    tenant: int
    actor: str
    tenant_key: str = "default"
    principal: int | None = None
    """The uid of the principal behind a request to a server; None for a process that is trusted with the database."""
    roles: frozenset[Role] | None = None
    """What its credential proves; None for a process that is trusted with the database."""
    joins: bool = False
    """True where it acts within somebody else's transaction, which may yet be rolled back."""
    followers: tuple[Follower, ...] = ()
    """Who does what follows from a change of subjects, before the transaction commits (decision 10)."""
    waits: bool = True
    """False where what somebody has locked is left for the next time: nobody asked for this piece of work in particular."""

    def acting_as(self, actor: str) -> Caller:
        """The same caller under another principal."""
        return replace(self, actor=actor)

    def without_followers(self) -> Caller:
        """The same caller for what a follower itself does."""
        return replace(self, followers=())

    def without_waiting(self) -> Caller:
        """The same caller, who leaves what somebody has locked."""
        return replace(self, waits=False)


Follower = Callable[[Caller, Sequence[Unfolding]], Op[None]]
"""Sees what an action made of the subjects it changed, within its transaction; what it raises undoes all of it."""


@runtime_checkable
class Finisher(Protocol):
    """A follower that knows a short cut for plain completions of the subjects that it follows."""

    def finish(self, caller: Caller, worker: int, finishes: Sequence[Finish]) -> Op[Mapping[int, ActionResult]]:
        """Complete those of one worker's attempts that it can, with all that follows; what was completed, by lease.

        To be called outside of a transaction, or in the caller's own; what is left takes the common way.
        """
        ...


@runtime_checkable
class Explaining(Protocol):
    """A follower that has something to say of why a subject does not move."""

    def why(self, caller: Caller, thread: SubjectThread, workers: Sequence[Worker], now: datetime) -> Op[list[Reason]]:
        """Its reasons, beside those of the kernel."""
        ...


@runtime_checkable
class Yielding(Protocol):
    """A follower that can tell beforehand what it would have to wait for."""

    def blocked(self, caller: Caller, unfoldings: Sequence[Unfolding]) -> Op[set[int]]:
        """The subjects whose changes it cannot follow now, because somebody has locked what they would move on.

        What the others would move on is locked from here to the end of the transaction. It never waits.
        """
        ...


def blocked(caller: Caller, unfoldings: Sequence[Unfolding]) -> Op[set[int]]:
    """The subjects of which something that follows would have to wait for somebody."""
    found: set[int] = set()
    followers: Sequence[object] = caller.followers
    for follower in followers:
        if isinstance(follower, Yielding):
            found |= yield from follower.blocked(caller, unfoldings)
    return found


def apply_and_follow(caller: Caller, unfoldings: Sequence[Unfolding]) -> Op[None]:
    """Write what was decided, then let the followers do what follows from it."""
    yield from caller.store.apply(unfoldings)
    changed = [unfolding for unfolding in unfoldings if unfolding.facts]
    if changed:
        for follow in caller.followers:
            yield from follow(caller, changed)
