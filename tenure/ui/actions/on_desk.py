"""What a person does with work: claim, renew, complete, fail, put off, release (S1 sections 7 and 10.2)."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tenure.engine import clock
from tenure.engine.caller import Caller
from tenure.model import euid
from tenure.model.attempt import Attempt
from tenure.model.errors import Conflict, Forbidden, InvalidRequest, NotClaimable, TenureError
from tenure.model.result import ActionResult
from tenure.model.roles import Permission
from tenure.model.states import ErrorClass
from tenure.sdk import operations as ops
from tenure.store.operation import Op
from tenure.ui import desk, places
from tenure.ui.actions.action import Action, Done, Field, Values, given
from tenure.ui.visitor import Visitor

if TYPE_CHECKING:
    from tenure.ui.page import Page

_CLASSES = (
    (ErrorClass.TRANSIENT_SYSTEM, "something broke: try again later"),
    (ErrorClass.TRANSIENT_DEPENDENCY, "something it needs is missing: try again later"),
    (ErrorClass.TRANSIENT_CAPACITY, "no room at the moment: try again later"),
    (ErrorClass.PERMANENT_INPUT, "the input is wrong: do not try again"),
    (ErrorClass.PERMANENT_STATE, "it cannot be done any more: do not try again"),
    (ErrorClass.BUSINESS_RULE_HOLD, "somebody has to decide: put it on hold"),
)  # fmt: skip


async def claim_at_once(page: Page, queue_key: str, subject: int | None = None) -> None:
    """Claim the next item of a queue, or the one named, begin it, and go to the desk with it."""
    visitor = page.visitor
    try:
        lease = await claim(visitor, queue_key, subject)
    except TenureError as error:
        page.say(str(error), tone="bad")
        return
    await page.visit(f"{places.DESK}?lease={euid.format_euid(euid.LEASE, lease.lease)}")


async def claim(visitor: Visitor, queue_key: str, subject: int | None = None) -> ops.Lease:
    """The lease on the next item, or on the one named. Raises NotClaimable where nothing was to be had."""
    name = visitor.identity.principal.display_name
    key = f"ui:{secrets.token_urlsafe(16)}"

    def take(caller: Caller) -> Op[list[ops.Lease]]:
        worker = yield from desk.present(caller, name)
        return (
            yield from ops.claim(
                caller, worker, queue_key, limit=1, start=True, subject=subject, token=visitor.desk, idempotency_key=key
            )
        )

    taken = await visitor.act(Permission.WORK, take)
    if not taken:
        raise NotClaimable(
            f"Nothing in {queue_key} can be claimed at the moment.", "Wait for work, or look at another queue."
        )
    return taken[0]


def renew(visitor: Visitor, attempt: Attempt) -> Action:
    """Hold on to it for another term."""
    return _action(
        visitor, attempt, "Renew the lease", "Renew", "renewed",
        lambda v: lambda caller, proof, key: ops.renew(caller, attempt.uid, **proof, idempotency_key=key),
        says=f"It is yours for another {attempt.ttl_seconds or 0} seconds from now.",
    )  # fmt: skip


def complete(visitor: Visitor, attempt: Attempt, queues: Sequence[str]) -> Action:
    """Report it as done, with a result, and send it on where it goes on."""
    return _action(
        visitor, attempt, "Complete", "Complete", "done",
        lambda v: lambda caller, proof, key: ops.complete(
            caller, attempt.uid, **proof, idempotency_key=key, result=_json(v, "result"),
            next_queue_key=given(v, "next_queue_key"), next_action_key=given(v, "next_action_key"),
        ),
        fields=(
            Field("result", "Result", "json", placeholder='{"passed": true}',
                  hint="JSON. It is kept with the record of this attempt."),
            Field("next_queue_key", "Then", "choice", value="",
                  options=(("", "it is finished"), *((key, f"on to {key}") for key in queues))),
            Field("next_action_key", "Next action", hint="Only where it goes on to a queue."),
        ),
    )  # fmt: skip


def fail(visitor: Visitor, attempt: Attempt) -> Action:
    """Report it as failed."""
    return _action(
        visitor, attempt, "Report a failure", "Report failure", "reported as failed",
        lambda v: lambda caller, proof, key: ops.fail(
            caller, attempt.uid, **proof, idempotency_key=key, error_class=ErrorClass(v["error_class"]),
            error_code=given(v, "error_code"), error_message=given(v, "error_message"),
        ),
        says="The class decides what follows.", tone="danger",
        fields=(
            Field("error_class", "What kind", "choice", value=str(ErrorClass.TRANSIENT_SYSTEM),
                  options=tuple((str(c), words) for c, words in _CLASSES)),
            Field("error_message", "What happened", "long", required=True, missing="Say what happened: it is kept as evidence."),
            Field("error_code", "Code", hint="A short key to find such failures by.", placeholder="label_unreadable"),
        ),
    )  # fmt: skip


def put_off(visitor: Visitor, attempt: Attempt) -> Action:
    """Try again later without spending an attempt."""

    def later(values: Values) -> _Make:
        minutes = float(values.get("minutes") or 0)

        def make(caller: Caller, proof: dict[str, Any], key: str) -> Op[ActionResult]:
            until = (yield from clock.now(caller)) + timedelta(minutes=minutes)
            return (yield from ops.defer(caller, attempt.uid, until=until, **proof, idempotency_key=key))

        return make

    return _action(
        visitor, attempt, "Put it off", "Put off", "put off", later,
        says="It goes back to the queue and comes again later. No attempt is spent.",
        fields=(Field("minutes", "For how many minutes", "number", required=True, value="30"),),
    )  # fmt: skip


def release(visitor: Visitor, attempt: Attempt) -> Action:
    """Give it back undone."""
    return _action(
        visitor, attempt, "Give it back", "Give back", "given back",
        lambda v: lambda caller, proof, key: ops.release_lease(
            caller, attempt.uid, **proof, idempotency_key=key, reason=v["reason"]
        ),
        says="It goes back to the queue as it was. No attempt is spent.",
        fields=(Field("reason", "Reason", "long", required=True, missing="A reason is needed: it is kept as evidence."),),
    )  # fmt: skip


def give_back(visitor: Visitor, held: Sequence[Attempt], then: Callable[[], object]) -> Action:
    """Give everything back, then go on with ``then``; what another session claimed cannot be, and runs out."""

    async def perform(_: Values, key: str) -> Done:
        for attempt in held:
            with suppress(Forbidden, Conflict):
                await visitor.act(
                    Permission.WORK,
                    lambda caller, attempt=attempt: ops.release_lease(  # type: ignore[misc]
                        caller, attempt.uid, worker=attempt.worker, token=visitor.desk, reason="signed out",
                        idempotency_key=f"{key}:{attempt.uid}",
                    ),
                )  # fmt: skip
        then()
        return Done("Everything was given back.")

    names = ", ".join(euid.format_euid(euid.SUBJECT, attempt.subject) for attempt in held)
    return Action(
        "Give back what you hold and sign out?", "Give back and sign out", perform, names,
        "Your leases end with this session. What you hold goes back to its queue as it was; no attempt is spent.",
    )  # fmt: skip


def register(visitor: Visitor, present: Any, holding: int) -> Action:
    """Say what the person can do and where: it decides which queues may give work."""

    async def perform(values: Values, key: str) -> Done:
        tags: dict[str, Any] = {name: _tags(values, name) for name in _TAGS}
        worker = await visitor.act(
            Permission.WORK,
            lambda caller: ops.register_worker(
                caller, desk.key_of(caller.actor), idempotency_key=key, worker_type="HUMAN_SESSION", host="/ui",
                display_name=visitor.identity.principal.display_name, heartbeat_ttl_seconds=desk.HEARTBEAT_SECONDS,
                max_concurrent_leases=int(values.get("limit") or desk.MAX_LEASES),
                **tags,
            ),
        )  # fmt: skip
        return Done("Your desk is set up.", places.worker(worker.uid, worker.seq), f"Fact #{worker.seq}")

    warning = f" You hold {holding}: they can be finished, not renewed." if holding else ""
    return Action(
        "Set up your desk", "Save", perform, says=f"Queues give work only to who can do it.{warning}",
        fields=(
            *(
                Field(name, label, value=", ".join(getattr(present, name, ())), hint="Separated by commas.")
                for name, label in _TAGS.items()
            ),
            Field("limit", "Hold at most", "number", value=getattr(present, "max_concurrent_leases", desk.MAX_LEASES)),
        ),
    )  # fmt: skip


_TAGS = {"capabilities": "Capabilities", "site_scope": "Sites", "platform_scope": "Platforms", "assay_scope": "Assays"}
_Make = Callable[[Caller, dict[str, Any], str], Op[ActionResult]]


def _action(
    visitor: Visitor, attempt: Attempt, title: str, submit: str, done: str, make: Callable[[Values], _Make], *,
    says: str = "", fields: tuple[Field, ...] = (), tone: str | None = None,
) -> Action:  # fmt: skip
    async def perform(values: Values, key: str) -> Done:
        operation = make(values)
        proof = {"worker": attempt.worker, "token": visitor.desk}
        try:
            result = await visitor.act(Permission.WORK, lambda caller: operation(caller, proof, key))
        except Forbidden as error:
            raise Forbidden(
                error.message, "It was claimed in another session: finish it there, or let an operator requeue it."
            ) from error
        return Done(f"{subject} is {done}.", places.subject(result.subject, result.seq), f"Fact #{result.seq}")

    subject = euid.format_euid(euid.SUBJECT, attempt.subject)
    return Action(title, submit, perform, subject, says, fields, tone)


def _json(values: Values, name: str) -> Any:
    text = given(values, name)
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"The result is no JSON: {error}.", 'Write for example {"passed": true}.') from None


def _tags(values: Values, name: str) -> tuple[str, ...]:
    return tuple(tag.strip() for tag in str(values.get(name) or "").split(",") if tag.strip())
