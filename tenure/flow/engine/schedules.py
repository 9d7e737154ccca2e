"""Schedules: defined, changed, and fired exactly once for each due time, however many processes tick (design 02, API)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tenure.engine.actions.submit import submit_many
from tenure.engine.caller import Caller
from tenure.flow.engine.beginning import Start
from tenure.flow.engine.flow import flow_of
from tenure.flow.engine.results import RunResult
from tenure.flow.engine.starting import start_many
from tenure.flow.engine.workflows import workflow
from tenure.flow.model.schedule import Firing, ScheduleSpec, firing
from tenure.flow.rows import ScheduleRow
from tenure.model import fact_types as ft
from tenure.model.errors import Conflict, NotFound, QueueUnknown, TenureError
from tenure.model.fact import Fact
from tenure.model.json_text import instant
from tenure.model.requests import SubmitSubject, validated
from tenure.model.result import ActionResult
from tenure.store.operation import Op

_NAMED = 50


@dataclass(frozen=True, slots=True)
class Fired:
    """What a tick did for one schedule."""

    schedule: str
    due: tuple[datetime, ...]
    started: int
    skipped: int
    errors: tuple[str, ...] = ()


def define_schedule(caller: Caller, spec: ScheduleSpec) -> Op[ScheduleRow]:
    """Define a schedule, or change the one of that name; the same again changes nothing.

    A due time that was started already is not started again, also where the zone or the line changes.
    """
    return (yield from caller.store.transaction(_define(caller, spec)))


def set_enabled(caller: Caller, name: str, enabled: bool, reason: str | None = None) -> Op[ScheduleRow]:
    """Let a schedule rest, or go on from now."""
    return (yield from caller.store.transaction(_set_enabled(caller, name, enabled, reason)))


def schedules(caller: Caller) -> Op[list[ScheduleRow]]:
    """All schedules, by name."""
    return flow_of(caller).storage.schedules(caller.tenant)


def fire(caller: Caller, limit: int = 100) -> Op[list[Fired]]:
    """Start what has fallen due. Each due time has a key of its own, so that it is started once."""
    return (yield from caller.store.transaction(_fire(caller, limit)))


def _define(caller: Caller, spec: ScheduleSpec) -> Op[ScheduleRow]:
    storage = flow_of(caller).storage
    if spec.workflow is not None:
        yield from workflow(caller, spec.workflow)
    elif spec.queue_key is not None:
        known = yield from caller.store.queues(caller.tenant, [spec.queue_key])
        if spec.queue_key not in known or known[spec.queue_key].retired_at is not None:
            raise QueueUnknown(f"There is no queue {spec.queue_key!r}.", "Define it first, or correct the key.")
    now = yield from caller.store.clock()
    plain = spec.model_dump(mode="json", exclude_defaults=True)
    there = yield from storage.lock_schedule(caller.tenant, spec.name)
    if there is None:
        uid = (yield from caller.store.fresh_uids(1))[0]
        row = ScheduleRow(uid, caller.tenant, spec.name, plain, True, _first(spec, now), now)
        return (yield from _write(caller, row, ft.SCHEDULE_DEFINED, {"spec": _told(plain)}, now, new=True))
    if there.spec == plain and there.retired_at is None:
        return there
    row = replace(there, spec=plain, next_at=_first(spec, now) if there.enabled else None, retired_at=None)
    return (yield from _write(caller, row, ft.SCHEDULE_CHANGED, {"set": _told(plain)}, now, new=False))


def _first(spec: ScheduleSpec, now: datetime) -> datetime | None:
    """A one-off whose time has passed is due at once, or was missed."""
    return spec.at if spec.at is not None else spec.next_after(now)


def _set_enabled(caller: Caller, name: str, enabled: bool, reason: str | None) -> Op[ScheduleRow]:
    row = yield from flow_of(caller).storage.lock_schedule(caller.tenant, name)
    if row is None:
        raise NotFound(f"There is no schedule {name!r}.", "List them: tenure schedule list.")
    if row.enabled == enabled:
        return row
    now = yield from caller.store.clock()
    spec = spec_of(row)
    changed = replace(row, enabled=enabled, next_at=spec.next_after(now) if enabled else None)
    data: dict[str, Any] = {"set": {"enabled": enabled}} | ({"reason": reason} if reason else {})
    return (yield from _write(caller, changed, ft.SCHEDULE_CHANGED, data, now, new=False))


def _fire(caller: Caller, limit: int) -> Op[list[Fired]]:
    due = yield from flow_of(caller).storage.lock_due_schedules(caller.tenant, limit)
    now = yield from caller.store.clock()
    fired = []
    for row in due:
        spec = spec_of(row)
        assert row.next_at is not None
        decided = firing(spec, row.next_at, now)
        errors = yield from _begin(caller, row, spec, decided)
        after = replace(row, next_at=decided.next_at, last_at=decided.due[-1] if decided.due else row.last_at)
        data = {
            "due": [instant(at) for at in decided.due[-_NAMED:]], "started": len(decided.due) - len(errors),
            "skipped": decided.skipped,
        } | ({"errors": errors[:_NAMED]} if errors else {})  # fmt: skip
        yield from _write(caller, after, ft.SCHEDULE_FIRED, data, now, new=False)
        fired.append(Fired(row.name, decided.due, len(decided.due) - len(errors), decided.skipped, tuple(errors)))
    return fired


def _begin(caller: Caller, row: ScheduleRow, spec: ScheduleSpec, decided: Firing) -> Op[list[str]]:
    """Start everything that is due; the codes of what could not be."""
    keys = [due_key(row, at) for at in decided.due]
    if not keys:
        return []
    outcomes: list[RunResult | ActionResult | TenureError] = []
    if spec.workflow is not None:
        value = spec.input if spec.input is not None else {}
        outcomes += yield from start_many(caller, [Start(spec.workflow, value, key) for key in keys])
    else:
        properties = dict(spec.input or {})
        requests = [
            validated(
                SubmitSubject, queue_key=spec.queue_key, next_action_key=spec.action, properties=properties,
                idempotency_key=key,
                correlation_id=f"schedule:{row.name}",
            )
            for key in keys
        ]  # fmt: skip
        outcomes += yield from submit_many(caller, requests)
    return [outcome.code for outcome in outcomes if isinstance(outcome, TenureError)]


def due_key(row: ScheduleRow, at: datetime) -> str:
    """The key of what a due time starts: the schedule and the time in UTC, whatever zone it was meant in."""
    return f"schedule:{row.name}:{instant(at)}"


def spec_of(row: ScheduleRow) -> ScheduleSpec:
    """The definition of a schedule."""
    return ScheduleSpec.model_validate(dict(row.spec))


def _told(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Facts carry no data: what is started is told, not with which input."""
    return {key: value for key, value in spec.items() if key != "input"}


def _write(
    caller: Caller, row: ScheduleRow, type_: str, data: Mapping[str, Any], now: datetime, *, new: bool
) -> Op[ScheduleRow]:
    fact = Fact(row.uid, row.seq + 1, type_, now, caller.tenant, caller.actor, data=data)
    fact.hash = fact.content_hash(row.head)
    if not (yield from flow_of(caller).storage.write_schedule(row, fact, new=new)):
        raise Conflict(f"Schedule {row.name!r} was changed meanwhile.", "Read it and decide anew.")
    return replace(row, seq=fact.seq, head=fact.hash)
