"""Subjects: how one stands and why, its history, its thread at any time, its lineage and facts (S1 sections 9.2, 9.3)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from tenure.api import cursor
from tenure.api.answers import Answer, answered
from tenure.api.authentication import GatewayOf, Observer, Submitter
from tenure.api.body import JsonRoute
from tenure.api.schemas.fact import FactShown, Lineage
from tenure.api.schemas.fields import SubjectEuid, Time
from tenure.api.schemas.guards import IdempotencyKeyHeader
from tenure.api.schemas.history import History, Thread
from tenure.api.schemas.outcome import ActionResult
from tenure.api.schemas.page import CursorParameter, Limit, Page, page, part
from tenure.api.schemas.subject import Reasons, Standing, SubjectRow
from tenure.api.schemas.submitting import SubmitBody
from tenure.engine import reading
from tenure.engine.actions.submit import submit
from tenure.engine.caller import Caller
from tenure.model import euid
from tenure.model.errors import NotFound
from tenure.model.fact import Fact
from tenure.model.queue import Key
from tenure.model.requests import ShortText
from tenure.model.states import State
from tenure.sdk import operations as ops
from tenure.sdk.public_form import public
from tenure.store.operation import Op

router = APIRouter(tags=["subjects"], route_class=JsonRoute)

Subject = Annotated[SubjectEuid, Path(alias="subject_euid")]


@router.post("/subjects", operation_id="submit_subject", summary="Create a subject and enqueue it", status_code=201,
             response_model=ActionResult)  # fmt: skip
async def submit_subject(
    body: SubmitBody, identity: Submitter, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """The subject with its envelope and its first fact. With a key that was used before, the answer is that of then."""
    request = body.request(body.keyed(idempotency_key))
    return await answered(gateway, identity, lambda caller: submit(caller, request), status=201)


@router.get("/subjects", operation_id="find_subjects", summary="Find subjects", response_model=Page[SubjectRow])
async def find_subjects(
    identity: Observer, gateway: GatewayOf,
    external_ref: Annotated[ShortText | None, Query(description="Your own name for it.", examples=["LIMS-4711"])] = None,
    name: Annotated[ShortText | None, Query(description="How its name begins.", examples=["plate 7"])] = None,
    correlation_id: Annotated[ShortText | None, Query(description="Of this correlation only.")] = None,
    queue_key: Annotated[Key | None, Query(description="Next in this queue.", examples=["extraction"])] = None,
    states: Annotated[list[State] | None, Query(alias="state", description="Of these states only; repeat it.")] = None,
    limit: Limit = 50, cursor_: CursorParameter = None,
) -> Answer:  # fmt: skip
    """Subjects to which all that is given fits, newest first.

    A page may be short, even empty, and not the last: go on until `next` is null.
    """
    bound = ("subjects", external_ref, name, correlation_id, queue_key, states)
    before = int(cursor.opened(cursor_, *bound)[0]) if cursor_ else None
    return await answered(
        gateway, identity,
        lambda caller: ops.find_subjects(
            caller, external_ref=external_ref, name=name, correlation_id=correlation_id, states=states,
            queue_key=queue_key, limit=limit, before=before,
        ),
        shown=lambda found: part(found.subjects, [found.next_before] if found.next_before is not None else None, *bound),
    )  # fmt: skip


@router.get("/subjects/{subject_euid}", operation_id="get_subject", summary="A subject as it stands, and why",
            response_model=Standing)  # fmt: skip
async def get_subject(subject: Subject, identity: Observer, gateway: GatewayOf) -> Answer:
    """Data, execution envelope, live leases, active holds, and the exact reasons for which it is or is not moving."""
    return await answered(gateway, identity, lambda caller: reading.standing(caller, subject))


@router.get("/subjects/{subject_euid}/why", operation_id="why", summary="Why a subject is not moving",
            response_model=Reasons)  # fmt: skip
async def why(subject: Subject, identity: Observer, gateway: GatewayOf) -> Answer:
    """Every reason for which it is not claimable now, or its place in the queue and who could take it."""
    return await answered(
        gateway, identity, lambda caller: reading.why(caller, subject),
        shown=lambda reasons: {
            "subject": euid.format_euid(euid.SUBJECT, subject), "reasons": [reason.as_dict() for reason in reasons],
        },
    )  # fmt: skip


@router.get("/subjects/{subject_euid}/history", operation_id="get_history", summary="Everything that happened to it",
            response_model=History)  # fmt: skip
async def get_history(subject: Subject, identity: Observer, gateway: GatewayOf) -> Answer:
    """Execution records, leases, holds, dead letters, facts and refusals, in order."""
    return await answered(gateway, identity, lambda caller: reading.history(caller, subject))


@router.get(
    "/subjects/{subject_euid}/as-of", operation_id="as_of", summary="A subject as it was", response_model=Thread
)
async def as_of(
    subject: Subject, identity: Observer, gateway: GatewayOf,
    seq: Annotated[int | None, Query(ge=1, lt=2**31, description="After this many facts.", examples=[1])] = None,
    at: Annotated[Time | None, Query(description="At this time. Give either seq or at.")] = None,
) -> Answer:  # fmt: skip
    """Envelope, attempts, holds and dead letters as they were: the fold of its facts up to then."""
    return await answered(gateway, identity, lambda caller: reading.as_of(caller, subject, seq=seq, at=at))


@router.get("/subjects/{subject_euid}/lineage", operation_id="get_lineage", summary="What it is related to",
            response_model=Lineage)  # fmt: skip
async def get_lineage(subject: Subject, identity: Observer, gateway: GatewayOf) -> Answer:
    """The edges at one object, both ways: its leases, records, holds, parents and outputs. Any object's EUID will do."""
    return await answered(
        gateway, identity, lambda caller: ops.lineage(caller, subject), shown=lambda edges: {"edges": public(edges)}
    )


@router.get("/subjects/{subject_euid}/facts", operation_id="list_subject_facts", summary="The facts of its thread",
            response_model=Page[FactShown])  # fmt: skip
async def list_subject_facts(
    subject: Subject, identity: Observer, gateway: GatewayOf, limit: Limit = 100, cursor_: CursorParameter = None
) -> Answer:
    """The thread in order, each fact with its hash. The EUID of a queue or worker gives that one's thread."""
    after = int(cursor.opened(cursor_, "facts", subject)[0]) if cursor_ else 0

    def found(caller: Caller) -> Op[list[Fact]]:
        facts = yield from ops.facts(caller, subject, after_seq=after, limit=limit + 1)
        if not facts and not after:
            raise NotFound("There is no such object.", "Check its EUID; what belongs to another tenant cannot be seen.")
        return facts

    return await answered(
        gateway, identity, found, shown=lambda facts: page(facts, limit, lambda fact: [fact.seq], "facts", subject)
    )
