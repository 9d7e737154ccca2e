"""What steps that are under way wait for, each with its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from tenure.flow.model.bits import numbers_in
from tenure.flow.model.names import Runnable
from tenure.flow.model.state import Phase, RunState, StepState
from tenure.flow.model.times import moment
from tenure.model import euid
from tenure.model.json_text import instant
from tenure.model.visibility import Reason

Whys = Mapping[str, Sequence[Reason]]
"""What the kernel's ``why`` says of runnables, by their keys."""
#: What passes by itself.
_TIME = frozenset({"retry_window", "not_yet_due"})
#: No more runnables, steps or items than these are named in one reason.
MANY = 20


def under_way(state: RunState, now: datetime, whys: Whys) -> Iterator[Reason]:
    """A reason for each step that is under way."""
    for runnable in state.active:
        step = state.under_way(runnable)
        if step is None or step.phase is Phase.OPEN:
            continue
        if step.late:
            yield Reason(
                "deadline_passed", f"Step {runnable.step!r} is past its deadline, and its work is being stopped.",
                "Wait for its end.", {"runnable": str(runnable), "deadline": step.deadline}, blocking=False,
            )  # fmt: skip
        if step.kind == "wait":
            yield _waiting(state, runnable, step, now)
        elif step.items is not None:
            yield _map(runnable, step, whys)
        elif step.kind == "child":
            yield _child(runnable, step)
        else:
            yield _work(runnable, step, whys.get(str(runnable), ()))
    for waiter in state.waiters:
        yield Reason(
            "code_waits_for_signal", f"The code of {waiter.runnable!r} waits for the signal {waiter.name!r}.",
            "Send it.", {"runnable": waiter.runnable, "signal": waiter.name, "actions": ["signal", "cancel"]},
        )  # fmt: skip


def _waiting(state: RunState, runnable: Runnable, step: StepState, now: datetime) -> Reason:
    evidence: dict[str, Any] = {"runnable": str(runnable), "since": _at(step.planned_at), "deadline": step.deadline}
    if step.signal is not None:
        evidence |= {"signal": step.signal, "signals_kept": sorted({s.name for s in state.signals})[:MANY]}
        evidence["actions"] = ["signal", "cancel"]
        return Reason(
            "waiting_for_signal", f"Step {runnable.step!r} waits for the signal {step.signal!r}.", "Send it.", evidence
        )
    until = moment(step.until)
    evidence["until"] = step.until
    if until is not None and until <= now:
        return Reason(
            "timer_due", f"Step {runnable.step!r} should have gone on at {step.until}.",
            "Let something tick: a worker, the server, or `tenure recover`.", evidence,
        )  # fmt: skip
    return Reason(
        "waiting_until", f"Step {runnable.step!r} waits until {step.until}.", "Wait.", evidence, blocking=False
    )


def _map(runnable: Runnable, step: StepState, whys: Whys) -> Reason:
    items = step.items
    assert items is not None
    counts = {
        "total": items.total, "planned": items.planned, "ok": items.ok.bit_count(), "failed": items.error.bit_count(),
        "canceled": items.canceled.bit_count(), "open": items.open,
    }  # fmt: skip
    open_items = numbers_in(((1 << items.planned) - 1) & ~items.ended)
    keys = [
        str(Runnable(runnable.step, runnable.iteration, index))
        for index, _ in zip(open_items, range(MANY), strict=False)
    ]
    stuck = {key: [r.as_dict() for r in _in_the_way(whys[key])] for key in keys if key in whys}
    stuck = {key: reasons for key, reasons in stuck.items() if reasons}
    said = (
        f" Of those looked at, {len(stuck)} cannot be taken: {next(iter(stuck.values()))[0]['message']}"
        if stuck
        else ""
    )
    return Reason(
        "items_under_way", f"Step {runnable.step!r} waits for {items.open} of {items.total} items.{said}",
        next(iter(stuck.values()))[0]["remedy"] if stuck else "Wait for their end.",
        {"runnable": str(runnable), "items": counts, "open": keys, "why": stuck}, blocking=bool(stuck),
    )  # fmt: skip


def _child(runnable: Runnable, step: StepState) -> Reason:
    run = euid.format_euid(euid.RUN, step.child) if step.child is not None else None
    return Reason(
        "child_under_way", f"Step {runnable.step!r} waits for the run {run} that it started.",
        "Look at that run: its own reasons tell why it does not end.",
        {"runnable": str(runnable), "run": run, "child_key": step.child_key, "since": _at(step.planned_at)}, blocking=False,
    )  # fmt: skip


def _work(runnable: Runnable, step: StepState, why: Sequence[Reason]) -> Reason:
    evidence: dict[str, Any] = {
        "runnable": str(runnable), "since": _at(step.planned_at), "why": [r.as_dict() for r in why],
    }  # fmt: skip
    if step.error is not None:
        evidence |= {"code": step.error.code, "actions": ["requeue", "cancel"]}
        return Reason(
            "dead_lettered", f"The work of step {runnable.step!r} gave up ({step.error.code}).",
            "Requeue it with reopen=True once the cause is gone, or cancel the run.", evidence,
        )  # fmt: skip
    leased = _lease(why)
    if leased is not None:
        return Reason(
            "runnable_under_way", f"Step {runnable.step!r} is being worked on. {leased.message}", leased.remedy, evidence,
            blocking=False,
        )  # fmt: skip
    blocking = _in_the_way(why)
    if blocking:
        code = (
            "dead_lettered"
            if any(r.evidence.get("state") == "FAILED_TERMINAL" for r in blocking)
            else "runnable_blocked"
        )
        return Reason(code, f"Step {runnable.step!r} is stuck. {blocking[0].message}", blocking[0].remedy, evidence)
    said = f" {why[0].message}" if why else ""
    return Reason(
        "runnable_under_way", f"Step {runnable.step!r} waits for its work to end.{said}",
        why[0].remedy if why else "Wait for its end.", evidence, blocking=False,
    )  # fmt: skip


def _lease(why: Sequence[Reason]) -> Reason | None:
    return next((reason for reason in why if reason.code == "active_lease"), None)


def _in_the_way(why: Sequence[Reason]) -> list[Reason]:
    """What keeps work from being done but time; of what is under a live lease nothing, though it keeps others from taking it."""
    if _lease(why) is not None:
        return []
    return [reason for reason in why if reason.blocking and reason.code not in _TIME]


def _at(at: datetime | None) -> str | None:
    return instant(at) if at is not None else None
