"""What the code of jobs keeps, waits for and starts, over HTTP (design 02, Model)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter

from tenure.api.answers import Answer, answered
from tenure.api.authentication import GatewayOf, WorkerIdentity
from tenure.api.body import JsonRoute
from tenure.api.gateway import Gateway
from tenure.api.ownership import require_own_worker
from tenure.api.schemas.code import (
    BeginWaitBody,
    ChildShown,
    CodeBody,
    FindStepBody,
    KeepStepBody,
    KeptShown,
    StartChildRunBody,
    TakeSignalBody,
)
from tenure.engine.caller import Caller
from tenure.flow.engine import code
from tenure.flow.engine.code import Holder, Kept
from tenure.model import euid
from tenure.model.json_text import instant
from tenure.model.principal import Identity
from tenure.store.operation import Op

router = APIRouter(prefix="/actions", tags=["work"], route_class=JsonRoute)


async def _ask(
    gateway: Gateway, identity: Identity, body: CodeBody, make: Callable[[Caller, Holder], Op[Any]],
    shown: Callable[[Any], Any],
) -> Answer:  # fmt: skip
    await require_own_worker(gateway, identity, body.worker_euid)
    holder = body.holder()
    return await answered(gateway, identity, lambda caller: make(caller, holder), shown=shown)


def _kept(kept: Kept) -> dict[str, Any]:
    return {"found": True, "value": kept.value, "now": instant(kept.now)}


@router.post("/find-step", operation_id="find_step", summary="What code has kept", response_model=KeptShown)
async def find_step(body: FindStepBody, identity: WorkerIdentity, gateway: GatewayOf) -> Answer:
    """What a former attempt, or this one, has kept under a name."""

    def find(caller: Caller, holder: Holder) -> Op[dict[str, Any]]:
        kept = yield from code.look(caller, holder, body.name)
        now = yield from caller.store.clock()
        return _kept(kept) if kept is not None else {"found": False, "value": None, "now": instant(now)}

    return await _ask(gateway, identity, body, find, dict)


@router.post("/keep-step", operation_id="keep_step", summary="Keep what code did", response_model=KeptShown)
async def keep_step(body: KeepStepBody, identity: WorkerIdentity, gateway: GatewayOf) -> Answer:
    """Under a name; what is kept under it already stays, and is the answer. A plain job is a run of one step from then on."""
    return await _ask(
        gateway, identity, body, lambda caller, holder: code.keep(caller, holder, body.name, body.value), _kept
    )


@router.post("/begin-wait", operation_id="begin_wait", summary="Begin to wait in code", response_model=KeptShown)
async def begin_wait(body: BeginWaitBody, identity: WorkerIdentity, gateway: GatewayOf) -> Answer:
    """Until when it lasts: so many seconds from the first time that it was asked for under this name."""
    return await _ask(
        gateway, identity, body, lambda caller, holder: code.began(caller, holder, body.name, body.seconds), _kept
    )


@router.post("/take-signal", operation_id="take_signal", summary="Take a signal in code", response_model=KeptShown)
async def take_signal(body: TakeSignalBody, identity: WorkerIdentity, gateway: GatewayOf) -> Answer:
    """The oldest of that name. Where none is there, the job is tried again at once when the next one comes."""

    def shown(taken: tuple[Kept | None, Any]) -> dict[str, Any]:
        kept, now = taken
        return _kept(kept) if kept is not None else {"found": False, "value": None, "now": instant(now)}

    return await _ask(
        gateway, identity, body, lambda caller, holder: code.taken(caller, holder, body.name, body.number), shown
    )


@router.post(
    "/start-child-run", operation_id="start_child_run", summary="Start a child run in code", response_model=ChildShown
)
async def start_child_run(body: StartChildRunBody, identity: WorkerIdentity, gateway: GatewayOf) -> Answer:
    """The same key is the same child, whichever attempt asks."""
    return await _ask(
        gateway, identity, body,
        lambda caller, holder: code.start_child(
            caller, holder, body.workflow, body.input, body.child_key, body.version
        ),
        lambda run: {"run": euid.format_euid(euid.RUN, run)},
    )  # fmt: skip
