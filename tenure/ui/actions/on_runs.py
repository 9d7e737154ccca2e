"""What a person does to runs: approve, reject, pause, resume, signal, cancel, retry, replay (design 02, API)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tenure.engine.caller import Caller
from tenure.flow.engine.results import RunResult
from tenure.model import euid
from tenure.model.errors import InvalidRequest
from tenure.model.roles import Permission
from tenure.sdk import runs as flow
from tenure.store.operation import Op
from tenure.ui import places
from tenure.ui.actions.action import Action, Done, Field, Values, given, reason
from tenure.ui.visitor import Visitor

Make = Callable[[Values], Callable[[Caller, str], Op[RunResult]]]
"""Makes of what was typed the operation, which gets the idempotency key; for a new run that is its run key."""
_FORCE = Field(
    "force", "Do it although work that cannot be undone would be done again", "check",
    hint="Only where the run has such work.",
)  # fmt: skip


def approve(visitor: Visitor, run: int, boundary: Mapping[str, Any], asks: str | None = None) -> Action:
    """Pass the boundary at which the run stands; another one that it has come to meanwhile is not passed."""
    return _action(
        visitor, run, f"Approve {boundary['step']!r}", "Approve", "approved",
        lambda v: lambda caller, key: flow.approve(
            caller, run, comment=given(v, "comment"), idempotency_key=key, **_here(boundary)
        ),
        says=_asked(asks, "The run goes on behind this step."),
        fields=(Field("comment", "Comment", "long", hint="It is kept as evidence with your name."),),
        permission=Permission.WORK,
    )  # fmt: skip


def reject(visitor: Visitor, run: int, boundary: Mapping[str, Any], asks: str | None = None) -> Action:
    """Reject at the boundary: the run takes the way of an error there, or fails where there is none."""
    return _action(
        visitor, run, f"Reject {boundary['step']!r}", "Reject", "rejected",
        lambda v: lambda caller, key: flow.reject(
            caller, run, comment=v["comment"], idempotency_key=key, **_here(boundary)
        ),
        says=_asked(asks, "The run takes the way that the workflow has for this; where it has none, the run fails."),
        fields=(
            Field("comment", "Comment", "long", required=True, hint="It is kept as evidence with your name.",
                  missing="Say why: it is kept as evidence."),
        ),
        tone="danger", permission=Permission.WORK,
    )  # fmt: skip


def pause(visitor: Visitor, run: int) -> Action:
    """Plan nothing more until somebody resumes it."""
    return _action(
        visitor, run, "Pause the run", "Pause", "paused",
        lambda v: lambda caller, key: flow.pause_run(caller, run, reason=v["reason"], idempotency_key=key),
        says="Nothing more is planned until it is resumed. What is under way goes on.", fields=(reason(),),
    )  # fmt: skip


def resume(visitor: Visitor, run: int, step: str | None) -> Action:
    """Let it go on, from a pause of the whole or from the pause step at which it stands."""
    return _action(
        visitor, run, f"Resume at {step!r}" if step else "Resume the run", "Resume", "resumed",
        lambda v: lambda caller, key: flow.resume_run(caller, run, step=step, reason=v["reason"], idempotency_key=key),
        says="It goes on where it stands.", fields=(reason(),),
    )  # fmt: skip


def signal(visitor: Visitor, run: int, names: tuple[str, ...]) -> Action:
    """Send a signal; ``names`` are those that the run waits for."""
    hint = f"It waits for: {', '.join(names)}." if names else "It is kept until a step takes it."
    return _action(
        visitor, run, "Send a signal", "Send", "signaled",
        lambda v: lambda caller, key: flow.signal_run(caller, run, v["name"], _payload(v), idempotency_key=key),
        says="A step that waits for it goes on with what it carries.",
        fields=(
            Field("name", "Name", required=True, value=names[0] if names else None, hint=hint),
            Field("payload", "Payload", "json", placeholder='{"passed": true}', hint="As JSON. Empty: none."),
        ),
    )  # fmt: skip


def cancel(visitor: Visitor, run: int) -> Action:
    """Stop it and its children."""
    return _action(
        visitor, run, "Cancel the run", "Cancel the run", "canceled",
        lambda v: lambda caller, key: flow.cancel_run(caller, run, reason=v["reason"], idempotency_key=key),
        says="It stops with its children. What was done is undone where the workflow says how.", fields=(reason(),),
        tone="danger",
    )  # fmt: skip


def retry(visitor: Visitor, run: int, failed: str | None, steps: tuple[str, ...]) -> Action:
    """A new run that keeps what this one did before the step that failed, or before another."""
    where = f"where it failed: {failed}" if failed else "where it stopped"
    return _action(
        visitor, run, "Retry the run", "Retry", "retried",
        lambda v: lambda caller, key: flow.retry_run(
            caller, run, from_step=given(v, "from_step"), force=bool(v.get("force")), reason=v["reason"], key=key
        ),
        says="A new run begins, and keeps what this one did before.",
        fields=(
            reason(), Field("from_step", "From", "choice", value="", options=(("", where), *((s, s) for s in steps))),
            _FORCE,
        ),
        new=True,
    )  # fmt: skip


def replay(visitor: Visitor, run: int) -> Action:
    """A new run from the same input."""
    return _action(
        visitor, run, "Replay the run", "Replay", "replayed",
        lambda v: lambda caller, key: flow.replay_run(
            caller, run, force=bool(v.get("force")), reason=v["reason"], key=key
        ),
        says="A new run begins from the same input, and does everything again.", fields=(reason(), _FORCE), new=True,
    )  # fmt: skip


def _action(
    visitor: Visitor, run: int, title: str, submit: str, done: str, make: Make, *, says: str, fields: tuple[Field, ...],
    tone: str | None = None, new: bool = False, permission: Permission = Permission.OPERATE,
) -> Action:  # fmt: skip
    async def perform(values: Values, key: str) -> Done:
        operation = make(values)
        result = await visitor.act(permission, lambda caller: operation(caller, key))
        if new:
            name = euid.format_euid(euid.RUN, result.run)
            return Done(f"{about} is {done} as {name}.", places.run(result.run), "Open the new run")
        return Done(f"{about} is {done}.", places.run(result.run, result.seq), f"Fact #{result.seq}")

    about = euid.format_euid(euid.RUN, run)
    return Action(title, submit, perform, about, says, fields, tone)


def _asked(asks: str | None, says: str) -> str:
    """The question of the workflow first."""
    return f"{asks.rstrip('.')}{'' if asks.endswith('?') else '.'} {says}" if asks else says


def _here(boundary: Mapping[str, Any]) -> dict[str, Any]:
    return {"step": boundary["step"], "iteration": boundary.get("iteration", 1)}


def _payload(values: Values) -> Any:
    text = given(values, "payload")
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"The payload is no JSON: {error}.", 'Write for example {"passed": true}.') from None
