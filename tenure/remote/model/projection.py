"""What the product is told, worked out from the subject (design 04, ProjectionUpdate; decision 13).

Fact by fact of the subject's thread, so that the updates are the same however facts were written together.
"""

from __future__ import annotations

from dataclasses import dataclass

from tenure.model import fact_types as ft
from tenure.model.fact import Fact
from tenure.model.states import State
from tenure.remote.model.fields import ExecutionState, ProjectionState

_STAGES = {
    ProjectionState.QUEUED: 0,
    ProjectionState.RUNNING: 2,
    ProjectionState.SUCCEEDED: 3,
    ProjectionState.FAILED: 3,
}
_ENDED = 3


@dataclass(frozen=True, slots=True)
class Projection:
    """How a submission stands for the product. A round begins where an operator reopens what had ended."""

    state: ProjectionState = ProjectionState.QUEUED
    round: int = 1
    source: ExecutionState | None = None
    """The state of the execution that it rests on."""

    @property
    def stage(self) -> int:
        """Grows within a round: queued, accepted by the node, running, ended."""
        return 1 if self.source is ExecutionState.ACCEPTED else _STAGES[self.state]

    @property
    def ended(self) -> bool:
        """Whether only an operator can have it go on."""
        return self.stage == _ENDED


def projected(before: Projection, fact: Fact) -> Projection:
    """The projection after a fact of the subject: as before, or further, or in a new round."""
    target = _target(fact)
    if not before.ended:
        new = Projection(target.state, before.round, target.source)
        return new if new.stage > before.stage else before
    if target.ended:
        return before
    return Projection(target.state, before.round + 1, target.source)


def _target(fact: Fact) -> Projection:
    if fact.state is State.WAITING_EXTERNAL:
        return Projection(ProjectionState.QUEUED, source=ExecutionState.ACCEPTED)
    if fact.state is State.RUNNING:
        return Projection(ProjectionState.RUNNING, source=ExecutionState.RUNNING)
    if fact.state is State.COMPLETED:
        return Projection(ProjectionState.SUCCEEDED, source=ExecutionState.COMPLETED)
    if fact.state is State.CANCELED:
        return Projection(ProjectionState.FAILED)
    if fact.state is State.FAILED_TERMINAL:
        source = ExecutionState.FAILED if fact.type == ft.FAILED else None
        return Projection(ProjectionState.FAILED, source=source)
    return Projection()
