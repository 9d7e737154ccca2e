"""Claims from the first of several queues that has work (S1 section 5.5): the most urgent queue first."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.engine.actions.claim import Claim, claim
from tenure.engine.caller import Caller
from tenure.model.errors import (
    CapabilityMismatch,
    QueueDisabled,
    QueueManualOnly,
    QueueUnknown,
    ScopeMismatch,
    TenureError,
)
from tenure.model.requests import ClaimItems
from tenure.store.operation import Op

#: What is wrong with one queue, or with this worker for it, and leaves the others to be looked at.
_OF_ONE_QUEUE = (QueueUnknown, QueueDisabled, QueueManualOnly, CapabilityMismatch, ScopeMismatch)


def claim_first(caller: Caller, requests: Sequence[ClaimItems]) -> Op[Claim]:
    """What the first queue brings that brings anything.

    Raises why the worker may not claim from any of them.
    """
    if len(requests) == 1:
        return (yield from claim(caller, requests[0]))
    known = yield from caller.store.queues(caller.tenant, [request.queue_key for request in requests])
    urgency = {key: -queue.dispatch_priority for key, queue in known.items()}
    refused: TenureError | None = None
    open_ones = 0
    for request in sorted(requests, key=lambda r: (urgency.get(r.queue_key, 0), r.queue_key)):
        try:
            taken = yield from claim(caller, request)
        except _OF_ONE_QUEUE as error:
            refused = refused if refused is not None else error
            continue
        if taken.items:
            return taken
        open_ones += 1
    if refused is not None and not open_ones:
        raise refused
    return Claim([])
