"""What a decision asks to be done: pure values that the engine carries out in the transaction of the facts.

Each is named by a runnable key, so that doing it twice can be noticed and left.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tenure.flow.model.names import Runnable
from tenure.flow.model.state import RunStatus
from tenure.model.queue import RetryPolicy


@dataclass(frozen=True, slots=True)
class Submit:
    """Put a subject before a queue. ``parents`` are the runnables it follows from (S2 section 3.2).

    Whoever did one of ``not_by`` is not to do it: redone "by a different contributor" (S2 section 1.4).
    """

    runnable: Runnable
    kind: str
    queue: str
    action: str | None
    template: str
    payload: Any
    input_hash: str
    priority: int = 0
    max_attempts: int | None = None
    retry: RetryPolicy | None = None
    slots: int = 1
    deadline: datetime | None = None
    parents: tuple[str, ...] = ()
    not_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StartChild:
    """Start a run as a part of this one. ``version`` None means the newest.

    The end of a child is applied to its runnable, but for one that the code of the runnable started (``from_code``): that
    one the code waits for itself, and it is canceled with the work of the runnable.
    """

    runnable: Runnable
    run: int
    workflow: str
    version: int | None
    input: Any
    input_hash: str
    child_key: str
    from_code: bool = False


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Decide ``timer`` with this key once it is ``at``."""

    key: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ClearTimer:
    """That timer is not needed any more; one that fires all the same changes nothing."""

    key: str


@dataclass(frozen=True, slots=True)
class CancelWork:
    """Cancel every subject and child run of this step that has not ended, and report each end.

    Ends that were not reported yet are reported too. A step whose work gave up and waits for an operator has ended in the
    facts of the same decision; its work is canceled only where it has begun again.
    """

    runnable: Runnable
    reason: str


@dataclass(frozen=True, slots=True)
class Wake:
    """Let the runnable whose code waits for a signal be tried at once."""

    runnable: str


@dataclass(frozen=True, slots=True)
class EndRun:
    """Keep the run's output, and tell its parent, if it has one."""

    status: RunStatus
    output: Any = None
    output_hash: str | None = None
    code: str | None = None


Command = Submit | StartChild | SetTimer | ClearTimer | CancelWork | Wake | EndRun
