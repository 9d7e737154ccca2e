"""Registering a workflow with its triggers: schedules become schedules of their own, events subscriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tenure.engine.caller import Caller
from tenure.flow.engine.flow import flow_of
from tenure.flow.engine.schedules import define_schedule
from tenure.flow.engine.triggered import route_events
from tenure.flow.engine.workflows import define_workflow
from tenure.flow.model.builder import Workflow
from tenure.flow.model.definition import Trigger, WorkflowDefinition
from tenure.flow.model.schedule import ScheduleSpec
from tenure.flow.model.times import moment
from tenure.flow.rows import WorkflowRow
from tenure.model.requests import validated
from tenure.store.operation import Op


def register(caller: Caller, definition: WorkflowDefinition | Mapping[str, Any]) -> Op[WorkflowRow]:
    """Define one version of a workflow, its schedules, and what its event triggers are sent, in one transaction."""
    return (yield from caller.store.transaction(_register(caller, definition)))


def register_all(caller: Caller, built: Iterable[Workflow]) -> Op[list[WorkflowRow]]:
    """Define what was built in Python."""
    rows = []
    for each in built:
        rows.append((yield from register(caller, each.as_data())))  # noqa: PERF401 - it yields
    return rows


def _register(caller: Caller, definition: WorkflowDefinition | Mapping[str, Any]) -> Op[WorkflowRow]:
    row = yield from define_workflow(caller, definition)
    newest = yield from flow_of(caller).storage.workflow(caller.tenant, row.name)
    if newest is not None and newest.uid == row.uid:
        whole = (yield from flow_of(caller).definitions(caller.tenant, [row.uid]))[row.uid]
        for trigger in whole.triggers:
            if trigger.kind == "schedule":
                yield from define_schedule(caller, _spec(whole, trigger))
        yield from route_events(caller, whole)
    return row


def _spec(definition: WorkflowDefinition, trigger: Trigger) -> ScheduleSpec:
    return validated(
        ScheduleSpec, name=f"{definition.name}/{trigger.name}", cron=trigger.cron, at=moment(trigger.at),
        timezone=trigger.timezone, missed=trigger.missed, workflow=definition.name, input=trigger.input,
    )  # fmt: skip
