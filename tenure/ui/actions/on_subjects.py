"""What an operator does to subjects: hold, release, requeue, cancel, resolve (S1 section 10.2). One, or several at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from tenure.engine.caller import Caller
from tenure.model import euid
from tenure.model.errors import InvalidRequest, TenureError
from tenure.model.hold import Hold
from tenure.model.result import ActionResult
from tenure.model.roles import Permission
from tenure.model.states import Resolution
from tenure.sdk import operations as ops
from tenure.store.operation import Op
from tenure.ui import places
from tenure.ui.actions.action import Action, Done, Field, Values, given, reason
from tenure.ui.visitor import Visitor

Make = Callable[[Caller, int, str], Op[ActionResult]]
"""Makes the operation for one subject with an idempotency key of its own."""


def hold(visitor: Visitor, subjects: Sequence[int]) -> Action:
    """Stop the line."""
    return _action(
        visitor, subjects, "Place a hold", "Place hold", "on hold", Permission.OPERATE,
        lambda v: lambda caller, uid, key: ops.hold(
            caller, uid, reason=v["reason"], hold_code=given(v, "hold_code") or "OPERATOR", idempotency_key=key
        ),
        says="Nobody can claim it until the hold is released. A worker that holds it loses its lease.",
        fields=(reason(), Field("hold_code", "Code", value="OPERATOR", hint="A short key to find such holds by.")),
    )  # fmt: skip


def release_hold(visitor: Visitor, holds: Sequence[Hold]) -> Action:
    """Let go of these holds; a subject with another hold stays held."""
    by_subject = {hold.subject: hold.uid for hold in holds}
    return _action(
        visitor, list(by_subject), "Release the hold", "Release hold", "released", Permission.OPERATE,
        lambda v: lambda caller, uid, key: ops.release_hold(
            caller, uid, hold=by_subject[uid], reason=v["reason"], idempotency_key=key
        ),
        says="It goes on where it stood. With another hold on it, it stays held.",
        fields=(reason(),),
    )  # fmt: skip


def requeue(visitor: Visitor, subjects: Sequence[int], *, queue_key: str | None, reopen: bool) -> Action:
    """Route it, again or elsewhere; ``reopen`` says that it is terminal."""
    return _action(
        visitor, subjects, "Reopen and requeue" if reopen else "Requeue", "Requeue", "requeued",
        Permission.ADMINISTER if reopen else Permission.OPERATE,
        lambda v: lambda caller, uid, key: ops.requeue(caller, uid, reopen=reopen, idempotency_key=key, **_routing(v)),
        says="It had ended. It begins again with fresh attempts; its history stays."
        if reopen
        else "It becomes ready in the queue. A lease that is on it ends.",
        fields=(
            reason(), Field("queue_key", "Queue", hint=f"Empty: {queue_key or 'the one it has'}."),
            Field("priority", "Priority", "number", hint="Empty: unchanged. Higher comes first."),
            Field("ready_at", "Not before", "time", hint="In UTC. Empty: at once."),
        ),
    )  # fmt: skip


def cancel(visitor: Visitor, subjects: Sequence[int]) -> Action:
    """End it for good."""
    return _action(
        visitor, subjects, "Cancel", "Cancel for good", "canceled", Permission.OPERATE,
        lambda v: lambda caller, uid, key: ops.cancel(caller, uid, reason=v["reason"], idempotency_key=key),
        says="It ends now and leaves its queue. Only an admin can reopen it.", fields=(reason(),), tone="danger",
    )  # fmt: skip


def resolve(visitor: Visitor, subjects: Sequence[int], *, as_: Resolution = Resolution.IGNORED) -> Action:
    """Close the dead letter without running the subject again."""
    return _action(
        visitor, subjects, "Resolve the dead letter", "Resolve", "resolved", Permission.OPERATE,
        lambda v: lambda caller, uid, key: ops.resolve_dead_letter(
            caller, uid, reason=v["reason"], resolution=Resolution(v["resolution"]), idempotency_key=key
        ),
        says="It is taken off the list. The subject is not run again.",
        fields=(
            reason(),
            Field("resolution", "As", "choice", value=str(as_),
                  options=(("IGNORED", "ignored: nothing has to be done"), ("CANCELED", "canceled: not wanted any more"))),
        ),
    )  # fmt: skip


def _action(
    visitor: Visitor, subjects: Sequence[int], title: str, submit: str, done: str, permission: Permission,
    make: Callable[[Values], Make], *, says: str, fields: tuple[Field, ...], tone: str | None = None,
) -> Action:  # fmt: skip
    async def perform(values: Values, key: str) -> Done:
        operation = make(values)
        if len(subjects) == 1:
            return await _one(visitor, permission, operation, subjects[0], key, done)
        return await _several(visitor, permission, operation, subjects, key, done)

    names = [euid.format_euid(euid.SUBJECT, uid) for uid in subjects]
    about = (
        names[0]
        if len(names) == 1
        else f"{len(names)} subjects: {', '.join(names[:6])}{' …' if len(names) > 6 else ''}"
    )
    return Action(title, submit, perform, about, says, fields, tone)


async def _one(visitor: Visitor, permission: Permission, make: Make, uid: int, key: str, done: str) -> Done:
    result = await visitor.act(permission, lambda caller: make(caller, uid, key))
    return Done(
        f"{euid.format_euid(euid.SUBJECT, uid)} is {done}.", places.subject(uid, result.seq), f"Fact #{result.seq}"
    )


async def _several(
    visitor: Visitor, permission: Permission, make: Make, subjects: Sequence[int], key: str, done: str
) -> Done:
    refused: list[str] = []
    for uid in subjects:
        try:
            await visitor.act(permission, lambda caller, uid=uid: make(caller, uid, f"{key}:{uid}"))  # type: ignore[misc]
        except TenureError as error:
            refused.append(f"{euid.format_euid(euid.SUBJECT, uid)}: {error.message}")
    went = len(subjects) - len(refused)
    text = f"{went} of {len(subjects)} subjects: {done}." if refused else f"{went} subjects: {done}."
    return Done(text, refused=tuple(refused))


def _routing(values: Values) -> dict[str, Any]:
    fields: dict[str, Any] = {"reason": values["reason"], "queue_key": given(values, "queue_key")}
    if (priority := given(values, "priority")) is not None:
        fields["priority"] = priority
    if (ready_at := given(values, "ready_at")) is not None:
        fields["ready_at"] = moment_of(ready_at)
    return fields


def moment_of(text: str) -> datetime:
    """What a browser's date field says, in UTC. Raises InvalidRequest."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        raise InvalidRequest(f"{text!r} is no date and time.", "Give it as 2026-11-28T10:00.") from None
