"""A run while a decision is made on it: its new facts are folded at once, so that what follows can follow."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from tenure.flow.model.commands import Command
from tenure.flow.model.data import Scope
from tenure.flow.model.deciders import Rights
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.errors import RunEnded, VersionDrift
from tenure.flow.model.facts import RunDraft, RunFact
from tenure.flow.model.fold import evolve
from tenure.flow.model.requests import RunRequest
from tenure.flow.model.shape import Shape, shape_of
from tenure.flow.model.state import RunState
from tenure.model.errors import IdempotencyConflict, SeqConflict
from tenure.model.fact import Fact


@dataclass(slots=True)
class Context:
    """The clock, the actor with what it may, data by reference, fresh uids, and the fact that answered this idempotency key
    before.
    """

    now: datetime
    actor: str
    values: Mapping[str, Any] = field(default_factory=dict)
    uids: Iterator[int] = field(default_factory=lambda: itertools.count(2, 2))
    replay: Fact | None = None
    rights: Rights = field(default_factory=Rights)


@dataclass(frozen=True, slots=True)
class Refusal:
    """News about a runnable that changed nothing, and why; no error, since other news came with it."""

    runnable: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be appended and done, and the state behind it."""

    state: RunState
    facts: tuple[RunDraft, ...] = ()
    commands: tuple[Command, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    replayed: Fact | None = None


@dataclass(slots=True)
class Unfolding:
    """The run as the decision stands."""

    state: RunState
    definition: WorkflowDefinition
    context: Context
    facts: list[RunDraft] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    shape: Shape = field(init=False)

    def __post_init__(self) -> None:
        self.shape = shape_of(self.definition)

    @property
    def now(self) -> datetime:
        """The moment of the decision."""
        return self.context.now

    def append(self, fact: RunFact, idempotency_key: str | None = None, payload_hash: bytes | None = None) -> None:
        """Append a fact and fold it. That it does not fit would be a mistake of the decision."""
        draft = fact.draft(idempotency_key, payload_hash)
        folded = evolve(
            self.state,
            Fact(
                thread=self.state.run, seq=self.state.seq + 1, type=draft.type, at=self.now, tenant=0,
                actor=self.context.actor, data=draft.data,
            ),
        )  # fmt: skip
        if folded.anomaly_count > self.state.anomaly_count:
            raise AssertionError(f"{draft.type} does not fit: {folded.anomalies[-1].reason}")
        self.state = folded
        self.facts.append(draft)

    def append_all(self, facts: Iterable[RunFact]) -> None:
        """Append facts in order."""
        for fact in facts:
            self.append(fact)

    def command(self, *commands: Command) -> None:
        """Ask for something to be done."""
        self.commands += commands

    def scope(self, **known: Any) -> Scope:
        """What paths find now."""
        return Scope(self.state, self.context.values, **known)

    def after(self, seconds: float | None) -> datetime | None:
        """The moment so many seconds from now."""
        return self.now + timedelta(seconds=seconds) if seconds is not None else None

    def decision(self) -> Decision:
        """What came of it."""
        return Decision(self.state, tuple(self.facts), tuple(self.commands), tuple(self.refusals))


def unfold(state: RunState, definition: WorkflowDefinition, context: Context) -> Unfolding:
    """Begin a decision on a run that was started; ``VersionDrift`` where the definition is not the run's."""
    if state.fingerprint != definition.fingerprint:
        raise VersionDrift(
            f"The run goes by {state.workflow} version {state.version}, and this is another definition.",
            f"Use the definition of {state.workflow} version {state.version} as it was registered.",
            workflow=state.workflow, version=state.version, fingerprint=state.fingerprint, given=definition.fingerprint,
        )  # fmt: skip
    return Unfolding(state, definition, context)


def answered(state: RunState, request: RunRequest, context: Context) -> Decision | None:
    """The answer to a request that came before; ``IdempotencyConflict`` where its key came with another."""
    fact = context.replay
    if fact is None:
        return None
    if fact.payload_hash is not None and fact.payload_hash != request.payload_hash():
        raise IdempotencyConflict(
            "This idempotency key was used before with another payload.",
            "Use a new key for a new request, or send the first payload again to get the first answer.",
            idempotency_key=request.idempotency_key,
        )
    return replace(Decision(state), replayed=fact)


def check_open(state: RunState, request: RunRequest) -> None:
    """``RunEnded`` behind the end, ``SeqConflict`` where the run has moved on since it was looked at."""
    if state.end is not None:
        raise RunEnded(
            f"The run has ended: {state.end.status}.",
            "Nothing can change it any more; start a new run, or retry or replay this one.",
            status=str(state.end.status), code=state.end.code, ended_at=state.end.at.isoformat(),
        )  # fmt: skip
    if request.expected_seq is not None and request.expected_seq != state.seq:
        raise SeqConflict(
            f"Expected seq {request.expected_seq}, but the thread has {state.seq} facts.",
            "Read the run again and decide anew.",
            expected=request.expected_seq, actual=state.seq,
        )  # fmt: skip
