"""claim: take work under lease, and wait for it where there is none (S1 section 6.2; design 06, HTTP API)."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
from typing import Any

from fastapi import APIRouter, Request

from tenure.api.answers import Answer
from tenure.api.authentication import COOKIE, GatewayOf, WorkerIdentity
from tenure.api.body import JsonRoute
from tenure.api.gateway import Gateway
from tenure.api.hanging_up import hung_up
from tenure.api.live.waiting import Waiting
from tenure.api.ownership import require_own_worker
from tenure.api.schemas.guards import IdempotencyKeyHeader
from tenure.api.schemas.outcome import Claims
from tenure.api.schemas.working import ClaimBody
from tenure.engine.actions import claim as claiming
from tenure.engine.actions import release as releasing
from tenure.engine.caller import Caller
from tenure.model.errors import TenureError
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
    wanted = validated(
        ClaimItems, worker=body.worker_euid, incarnation=body.incarnation, queue_key=body.queue_key,
        token_hash=token.digest, limit=body.limit, subject=body.subject_euid, start=body.start,
        ttl_seconds=body.ttl_seconds, idempotency_key=key, expected_state=body.expected_state,
        expected_revision=body.expected_revision, expected_seq=body.expected_seq,
    )  # fmt: skip

    async def look() -> list[Claimed]:
        return (await gateway.perform(identity, lambda caller: claiming.claim(caller, wanted))).items

    if body.wait_seconds > 0 and body.subject_euid is None:
        waiting: Waiting = request.app.state.waiting
        taken = await waiting.until_taken(identity, body.queue_key, body.wait_seconds, look, hung_up(request))
    else:
        taken = await look()
    if taken and key is None and await request.is_disconnected():
        await _give_back(gateway, identity, taken, token)
        taken = []
    return Answer({"leases": [_shown(item, token) for item in taken]})


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
