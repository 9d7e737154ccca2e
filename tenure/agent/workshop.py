"""Takes each execution of one stage on, a few at a time, each in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tenure.agent.execution import Execution, Stage
from tenure.agent.sentences import reason_of
from tenure.agent.store.store import Store
from tenure.agent.telling import LOG, tell_defect
from tenure.model.errors import TenureError

_IDLE = 60.0
_AFTER_A_DEFECT = 10.0


class Workshop:
    """``work`` takes an execution on by changing it in the store; where it leaves it as it was, it is taken again."""

    def __init__(
        self, name: str, stage: Stage, work: Callable[[Execution], None], store: Store, clock: Callable[[], float],
        ring: Callable[[], None], *, at_once: int,
    ) -> None:  # fmt: skip
        self._stage, self._work, self._store, self._clock, self._ring = stage, work, store, clock, ring
        self._at_once = at_once
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix=f"tenure-{name}")
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._resting: dict[str, float] = {}

    def step(self) -> float:
        """Take on what is due and fits; in how many seconds to come again, unless something changes before."""
        now, awake = self._clock(), time.monotonic()
        with self._lock:
            busy = set(self._busy)
        due = self._store.due(self._stage, now, self._at_once + len(busy) + len(self._resting))
        for execution in due:
            if len(busy) >= self._at_once:
                return _IDLE  # whoever is done rings
            if execution.execution_id in busy or self._resting.get(execution.execution_id, awake) > awake:
                continue
            busy.add(execution.execution_id)
            with self._lock:
                self._busy.add(execution.execution_id)
            self._pool.submit(self._take_on, execution)
        at = self._store.next_due(self._stage)
        return min(_IDLE, _AFTER_A_DEFECT if at is None or at <= now else max(at - now, 0.01))

    def close(self) -> None:
        """Begin nothing new, and wait for what is under way, which has been asked to stop."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _take_on(self, execution: Execution) -> None:
        try:
            self._work(execution)
            self._resting.pop(execution.execution_id, None)
        except TenureError as error:  # the agent's own file cannot be written
            LOG.error("%s", error)
            self._resting[execution.execution_id] = time.monotonic() + _AFTER_A_DEFECT
        except Exception as error:
            reason = reason_of(error, execution.work.payload_ref.input_uri)
            tell_defect(
                error, "Execution %s could not be taken on (%s); it is tried again.", execution.execution_id, reason
            )
            self._resting[execution.execution_id] = time.monotonic() + _AFTER_A_DEFECT
        finally:
            with self._lock:
                self._busy.discard(execution.execution_id)
            self._ring()
