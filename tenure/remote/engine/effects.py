"""What an event means to its subject: the kernel's own decisions, made with the lease that the engine vouches for.

Events carry no lease token: the bearer of the node's token is the node, and the execution id says which attempt is meant.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tenure.model.attempt import Attempt
from tenure.model.decisions.claim import decide_claim
from tenure.model.decisions.complete import decide_complete
from tenure.model.decisions.dispatch import decide_dispatch
from tenure.model.decisions.expire import decide_expire
from tenure.model.decisions.fail import decide_fail
from tenure.model.decisions.start import decide_start
from tenure.model.decisions.unfolding import Context, Unfolding
from tenure.model.requests import (
    ClaimItems,
    CompleteExecution,
    DispatchExternal,
    FailExecution,
    StartExecution,
    validated,
)
from tenure.model.states import CLAIMABLE, ErrorClass, State
from tenure.model.thread import FOREVER
from tenure.remote.model.contracts import ExecutionEvent
from tenure.remote.model.execution import Execution
from tenure.remote.model.fields import ExecutionState
from tenure.remote.model.names import queue_key_of
from tenure.remote.rows import NodeRow

_DIGEST = 32


def fresh_token_hash() -> bytes:
    """The hash of a token that nobody has: only the engine acts with the lease."""
    return secrets.token_bytes(_DIGEST)


class Effects:
    """Applies events to subjects within one transaction."""

    def __init__(self, context: Context, token_hashes: Mapping[int, bytes]) -> None:
        self._context = context
        self._hashes = dict(token_hashes)

    def apply(
        self, unfolding: Unfolding, execution: Execution, event: ExecutionEvent, node: NodeRow
    ) -> tuple[bool, Execution]:
        """Whether the subject moved, and the execution with the attempt that it acts with now.

        It does not move where its attempt has ended otherwise: by a cancellation, a hold, a requeue.
        """
        if event.state is ExecutionState.ACCEPTED:
            return self._accepted(unfolding, execution, node)
        attempt = unfolding.thread.attempts.get(execution.attempt)
        if attempt is None or not attempt.live or attempt.expired(self._context.now):
            return False, execution
        if event.state is ExecutionState.RUNNING:
            return self._running(unfolding, attempt), execution
        if event.state is ExecutionState.COMPLETED:
            return self._completed(unfolding, attempt, event), execution
        return self._failed(unfolding, attempt, event), execution

    def _accepted(self, unfolding: Unfolding, execution: Execution, node: NodeRow) -> tuple[bool, Execution]:
        state = unfolding.envelope.state
        if not execution.wanted or state not in CLAIMABLE:
            return False, execution
        live = unfolding.thread.live_attempts
        if any(attempt.uid != execution.attempt and not attempt.expired(self._context.now) for attempt in live):
            return False, execution
        attempt = unfolding.thread.attempts.get(execution.attempt)
        if attempt is None or not attempt.live or attempt.expired(self._context.now):
            # Nobody else can have taken it: the queue has one worker (decision 13).
            attempt = self._claimed_anew(unfolding, node)
            execution = replace(execution, attempt=attempt.uid)
        request = DispatchExternal(external_ref=execution.execution_id, **self._holder(attempt))
        decide_dispatch(unfolding, request, self._context, self._hashes[attempt.uid])
        return True, execution

    def _claimed_anew(self, unfolding: Unfolding, node: NodeRow) -> Attempt:
        for lapsed in unfolding.thread.live_attempts:
            decide_expire(unfolding, lapsed, self._context)
        token_hash = fresh_token_hash()
        queue_key = unfolding.envelope.next_queue_key or queue_key_of(node.name)
        request = validated(ClaimItems, worker=node.worker, queue_key=queue_key, token_hash=token_hash)
        fact = decide_claim(unfolding, request, self._context)
        assert fact.lease is not None
        self._hashes[fact.lease] = token_hash
        return unfolding.thread.attempts[fact.lease]

    def _running(self, unfolding: Unfolding, attempt: Attempt) -> bool:
        if unfolding.envelope.state is not State.WAITING_EXTERNAL:
            return False
        request = StartExecution(deadline=FOREVER, **self._holder(attempt))
        decide_start(unfolding, request, self._context, self._hashes[attempt.uid])
        return True

    def _completed(self, unfolding: Unfolding, attempt: Attempt, event: ExecutionEvent) -> bool:
        if unfolding.envelope.state is not State.RUNNING or event.result_ref is None:
            return False
        request = CompleteExecution(
            result=event.result_ref.wire(), result_ref=event.result_ref.output_uri, **self._holder(attempt)
        )
        decide_complete(unfolding, request, self._context, self._hashes[attempt.uid])
        return True

    def _failed(self, unfolding: Unfolding, attempt: Attempt, event: ExecutionEvent) -> bool:
        error = event.error
        if unfolding.envelope.state not in (State.RUNNING, State.WAITING_EXTERNAL) or error is None:
            return False
        # The same once more is pointless where the node says so: the input has to change first.
        error_class = ErrorClass.TRANSIENT_SYSTEM if error.retryable else ErrorClass.PERMANENT_INPUT
        request = FailExecution(
            error_class=error_class, error_code=error.code, error_message=error.message, **self._holder(attempt)
        )
        decide_fail(unfolding, request, self._context, self._hashes[attempt.uid])
        return True

    def _holder(self, attempt: Attempt) -> dict[str, Any]:
        return {"lease": attempt.uid, "worker": attempt.worker, "token_hash": self._hashes[attempt.uid]}
