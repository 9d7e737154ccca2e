"""claim: take work under lease, and wait for it where there is none (S1 section 6.2; design 06, HTTP API)."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import time
from typing import Any

from fastapi import APIRouter, Request

from tenure.api.answers import Answer
from tenure.api.authentication import COOKIE, GatewayOf, WorkerIdentity, still_proved
from tenure.api.body import JsonRoute
from tenure.api.gateway import Gateway
from tenure.api.hanging_up import hung_up
from tenure.api.live.waiting import Waiting
from tenure.api.ownership import require_own_worker
from tenure.api.schemas.guards import IdempotencyKeyHeader
from tenure.api.schemas.outcome import Claims
from tenure.api.schemas.working import ClaimBody
from tenure.engine.actions import release as releasing
from tenure.engine.actions.claim_first import claim_first
from tenure.engine.caller import Caller
from tenure.model.errors import InvalidRequest, TenureError
from tenure.model.principal import Identity
from tenure.model.requests import ClaimItems, ReleaseLease, validated
from tenure.sdk.public_form import public
from tenure.sdk.token import Token
from tenure.store.operation import Op
from tenure.store.records import Claimed

router = APIRouter(prefix="/actions", tags=["work"], route_class=JsonRoute)


@router.post("/claim", operation_id="claim", summary="Take work under lease", response_model=Claims)
async def claim(
    body: ClaimBody, request: Request, identity: WorkerIdentity, gateway: GatewayOf,
    idempotency_key: IdempotencyKeyHeader = None,
) -> Answer:  # fmt: skip
    """The first visible subjects of the queue in its order, or exactly the one that is named.

    Where there is none, the answer is an empty list, after ``wait_seconds`` at the latest: it comes as soon as there is work.
    """
    key = body.keyed(idempotency_key)
    await require_own_worker(gateway, identity, body.worker_euid)
    token = _token(body, key, request)
    looking = _Looking(gateway, identity, _wanted(body, key, token), request)
    if body.wait_seconds > 0 and body.subject_euid is None:
        waiting: Waiting = request.app.state.waiting
        keys = [each.queue_key for each in looking.wanted]
        taken = await waiting.until_taken(identity, keys, body.wait_seconds, looking.look, hung_up(request))
    else:
        taken = await looking.look()
    if taken and key is None and await request.is_disconnected():
        await _give_back(gateway, identity, taken, token)
        taken = []
    return Answer({"leases": [_shown(item, token) for item in taken], "taken_after_seconds": looking.taken_after})


def _wanted(body: ClaimBody, key: str | None, token: Token) -> list[ClaimItems]:
    """What is asked, queue by queue. Raises InvalidRequest where one subject is named, and several queues."""
    if body.also_from and body.subject_euid is not None:
        raise InvalidRequest("A subject is claimed from one queue.", "Leave out also_from.")
    shared: dict[str, Any] = {
        "worker": body.worker_euid, "incarnation": body.incarnation, "token_hash": token.digest, "start": body.start,
        "subject": body.subject_euid, "ttl_seconds": body.ttl_seconds, "expected_state": body.expected_state,
        "expected_revision": body.expected_revision, "expected_seq": body.expected_seq,
    }  # fmt: skip
    queues = [(body.queue_key, body.limit, key), *((q.queue_key, q.limit, q.idempotency_key) for q in body.also_from)]
    if len({queue_key for queue_key, _, _ in queues}) < len(queues):
        raise InvalidRequest("A queue is named twice.", "Name each once, with the limit that it has.")
    return [
        validated(ClaimItems, queue_key=queue_key, limit=limit, idempotency_key=own, **shared)
        for queue_key, limit, own in queues
    ]


class _Looking:
    """Looks for work, and knows when it found some, counted from the request."""

    def __init__(self, gateway: Gateway, identity: Identity, wanted: list[ClaimItems], request: Request) -> None:
        self._gateway = gateway
        self._request = request
        self._again = False
        self._identity = identity
        self._began = time.monotonic()
        self.wanted = wanted
        self.taken_after = 0.0

    async def look(self) -> list[Claimed]:
        """Claim once. Raises Unauthenticated where the credential was revoked since the last look."""
        if self._again:
            await still_proved(self._request)
        self._again = True
        asked = time.monotonic()
        taken, age = await self._gateway.perform(self._identity, self._claim)
        # A little too early rather than too late: whoever holds the lease counts its time from here.
        self.taken_after = round(asked - self._began - age, 3)
        return taken

    def _claim(self, caller: Caller) -> Op[tuple[list[Claimed], float]]:
        claim = yield from claim_first(caller, self.wanted)
        if not claim.replayed:
            return claim.items, 0.0
        now = yield from caller.store.clock()
        return claim.items, max((now - item.claimed_at).total_seconds() for item in claim.items)


def _token(body: ClaimBody, key: str | None, request: Request) -> Token:
    """The secret of the leases. With a key it is worked out of the caller's credential, so that a repetition has the same."""
    if body.lease_token is not None:
        return Token(body.lease_token)
    if key is None:
        return Token()
    told = f"lease\0{body.worker_euid}\0{body.queue_key}\0{key}"
    credential = request.headers.get("authorization") or request.cookies.get(COOKIE, "")
    digest = hmac.new(credential.encode(), told.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
    return Token(base64.urlsafe_b64encode(digest).decode().rstrip("="))


async def _give_back(gateway: Gateway, identity: Identity, taken: list[Claimed], token: Token) -> None:
    """Release what was taken for a client that hung up meanwhile: nobody else would know of it until it lapses."""

    def release(caller: Caller, item: Claimed) -> Op[Any]:
        request = ReleaseLease(
            lease=item.lease,
            worker=item.worker,
            token_hash=token.digest,
            reason="the client hung up before it was told",
        )
        return releasing.release(caller, request)

    async def one(item: Claimed) -> None:
        with contextlib.suppress(TenureError):  # then it lapses by itself
            await gateway.perform(identity, lambda caller: release(caller, item))

    await asyncio.gather(*(one(item) for item in taken))


def _shown(item: Claimed, token: Token) -> dict[str, Any]:
    shown: dict[str, Any] = public(item)
    del shown["order"]
    return {"lease": shown.pop("lease"), "lease_token": token.reveal(), **shown}
