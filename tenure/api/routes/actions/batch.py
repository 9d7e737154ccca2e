"""batch: many actions of the holder of leases in one request, and one transaction for each kind (design 06, HTTP API)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import APIRouter

from tenure.api.answers import Answer
from tenure.api.authentication import GatewayOf, WorkerIdentity
from tenure.api.body import JsonRoute
from tenure.api.ownership import require_own_worker
from tenure.api.problem import problem_of
from tenure.api.schemas.batch import BatchBody, BatchOutcomes, FailOne, One
from tenure.engine.acting import Outcome
from tenure.engine.actions.complete import complete_many
from tenure.engine.actions.defer import defer_many
from tenure.engine.actions.dispatch import dispatch_many
from tenure.engine.actions.fail import fail_many
from tenure.engine.actions.release import release_many
from tenure.engine.actions.renew import renew_many, renew_plain
from tenure.engine.actions.start import start_many
from tenure.engine.caller import Caller
from tenure.model.errors import InvalidRequest, StoreUnavailable, TenureError
from tenure.model.requests import (
    CompleteExecution,
    DeferExecution,
    DispatchExternal,
    FailExecution,
    LeaseRequest,
    ReleaseLease,
    RenewLease,
    StartExecution,
    validated,
)  # fmt: skip
from tenure.model.states import ErrorClass
from tenure.sdk.public_form import public
from tenure.sdk.token import digest_of
from tenure.store.operation import Op

router = APIRouter(prefix="/actions", tags=["work"], route_class=JsonRoute)

_Many = Callable[[Caller, Sequence[Any]], Op[list[Outcome]]]
#: In this order: what begins comes before what ends.
_KINDS: Mapping[str, tuple[type[LeaseRequest], _Many]] = {
    "start": (StartExecution, start_many), "renew": (RenewLease, renew_many), "dispatch": (DispatchExternal, dispatch_many),
    "complete": (CompleteExecution, complete_many), "fail": (FailExecution, fail_many), "defer": (DeferExecution, defer_many),
    "release": (ReleaseLease, release_many),
}  # fmt: skip


@router.post(
    "/batch", operation_id="batch", summary="Many actions of the holder of leases", response_model=BatchOutcomes
)
async def batch(body: BatchBody, identity: WorkerIdentity, gateway: GatewayOf) -> Answer:
    """Each by itself: what is refused changes nothing and leaves the others alone.

    Those of one kind are one transaction. A lease is the key of what ends it, so a batch may be sent again as it is.
    """
    await require_own_worker(gateway, identity, body.worker_euid)
    outcomes: list[Outcome | None] = [None] * len(body.actions)
    chosen: dict[str, list[tuple[int, LeaseRequest]]] = {}
    for index, one in enumerate(body.actions):
        try:
            chosen.setdefault(one.action, []).append((index, _request(body.worker_euid, one)))
        except TenureError as error:
            outcomes[index] = error

    def perform(caller: Caller) -> Op[None]:
        for kind, (_, many) in _KINDS.items():
            if kind not in chosen:
                continue
            requests = [request for _, request in chosen[kind]]
            done = yield from (
                _renewed(caller, body, requests) if kind == "renew" else _performed(caller, many, requests)
            )
            for (index, _), outcome in zip(chosen[kind], done, strict=True):
                outcomes[index] = outcome

    await gateway.perform(identity, perform)
    return Answer({"outcomes": [_told(outcome) for outcome in outcomes if outcome is not None]})


def _request(worker: int, one: One) -> LeaseRequest:
    if one.worker_euid not in (0, worker):
        raise InvalidRequest("The action names another worker than the batch.", "Leave worker_euid out of the action.")
    said = one.details()
    if isinstance(one, FailOne):
        retryable = said.pop("retryable", None)
        if retryable is not None and "error_class" not in said:
            said["error_class"] = ErrorClass.TRANSIENT_SYSTEM if retryable else ErrorClass.PERMANENT_STATE
    proof = {"lease": one.lease_euid, "worker": worker, "token_hash": digest_of(one.lease_token)}
    return validated(_KINDS[one.action][0], idempotency_key=one.idempotency_key, **proof, **said)


def _renewed(caller: Caller, body: BatchBody, requests: Sequence[Any]) -> Op[list[Outcome]]:
    """The plain ones in one statement for each ttl, what it leaves out one by one; none waits for another's subject."""
    done: dict[int, Outcome] = {}
    if body.incarnation is not None:
        plain = [r for r in requests if r.model_fields_set <= _PLAIN_RENEWAL]
        for ttl in {r.ttl_seconds for r in plain}:
            leases = [(r.lease, r.token_hash) for r in plain if r.ttl_seconds == ttl]
            done |= yield from renew_plain(caller, body.worker_euid, body.incarnation, leases, ttl)
    rest = [request for request in requests if request.lease not in done]
    told = iter((yield from _performed(caller, _renew_free, rest)) if rest else [])
    return [done[request.lease] if request.lease in done else next(told) for request in requests]


def _renew_free(caller: Caller, requests: Sequence[RenewLease]) -> Op[list[Outcome]]:
    return renew_many(caller, requests, waits=False)


_PLAIN_RENEWAL = frozenset({"lease", "worker", "token_hash", "ttl_seconds", "idempotency_key"})


def _performed(caller: Caller, many: _Many, requests: Sequence[Any]) -> Op[list[Outcome]]:
    try:
        return (yield from many(caller, requests))
    except StoreUnavailable:
        raise
    except TenureError as error:
        if len(requests) == 1:
            return [error]
    # One of them the database refuses for all: each by itself, so that only that one is answered with it.
    outcomes: list[Outcome] = []
    for request in requests:
        outcomes += yield from _performed(caller, many, [request])
    return outcomes


def _told(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, TenureError):
        return {"problem": problem_of(outcome)}
    return {"result": public(outcome)}
