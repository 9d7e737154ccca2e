"""define_workflow, retire_workflow, and reading definitions (design 02, Model)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tenure.engine.actions.queues import define_queue
from tenure.engine.caller import Caller
from tenure.engine.json_schema import schema_problem
from tenure.flow.engine.flow import flow_of
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.errors import WorkflowUnknown
from tenure.flow.model.reading import from_data
from tenure.flow.model.steps import STEP_TEMPLATE, MapStep, Work
from tenure.flow.model.validation import check
from tenure.flow.rows import WorkflowRow
from tenure.model import fact_types as ft
from tenure.model.errors import AlreadyExists, TemplateNotServed
from tenure.model.fact import Fact
from tenure.model.queue import JOB_TEMPLATE, QueuePolicy
from tenure.store.operation import Op


def define_workflow(caller: Caller, definition: WorkflowDefinition | Mapping[str, Any]) -> Op[WorkflowRow]:
    """Register one version of a workflow; the same one again changes nothing, another one is ``AlreadyExists``.

    It is validated whole: ``InvalidDefinition`` names the steps. Queues that its steps name and that nobody has defined
    are defined; one that does not serve steps is ``TemplateNotServed``.
    """
    checked = (
        check(definition, schema_problem) if isinstance(definition, WorkflowDefinition)
        else from_data(definition, schema_problem)
    )  # fmt: skip
    return (yield from caller.store.transaction(_define(caller, checked)))


def define_alone(caller: Caller, definition: WorkflowDefinition) -> Op[WorkflowRow]:
    """The same for work that is in its queue already, which is left as it is. Within a transaction."""
    return _define(caller, check(definition, schema_problem), queues=False)


def retire_workflow(caller: Caller, name: str, version: int, *, reason: str | None = None) -> Op[WorkflowRow]:
    """Take a version out of use: no run starts with it any more; those that go by it go on."""
    return (yield from caller.store.transaction(_retire(caller, name, version, reason)))


def workflow(caller: Caller, name: str, version: int | None = None) -> Op[WorkflowRow]:
    """One version, the newest in use where none is named; ``WorkflowUnknown``."""
    found = yield from flow_of(caller).storage.workflow(caller.tenant, name, version)
    if found is None:
        raise unknown(name, version)
    return found


def workflows(caller: Caller) -> Op[list[WorkflowRow]]:
    """All versions of all workflows, by name and version."""
    return flow_of(caller).storage.workflows(caller.tenant)


def unknown(name: str, version: int | None) -> WorkflowUnknown:
    """The error for a workflow that is not there."""
    what = f"{name!r}" if version is None else f"{name!r} in version {version}"
    return WorkflowUnknown(f"There is no workflow {what}.", "Define it first, or correct the name.", workflow=name)


def _define(caller: Caller, definition: WorkflowDefinition, *, queues: bool = True) -> Op[WorkflowRow]:
    storage = flow_of(caller).storage
    for attempt in (1, 2):
        known = yield from storage.workflow(caller.tenant, definition.name, definition.version)
        if known is not None:
            if known.fingerprint.hex() != definition.fingerprint:
                raise AlreadyExists(
                    f"Workflow {definition.name!r} exists in version {definition.version} and differs.",
                    "Give the changed one the next version: runs keep the version with which they began.",
                    workflow=definition.name, version=definition.version,
                )  # fmt: skip
            return known
        if attempt == 1 and queues:
            yield from _queues(caller, definition)
        row, fact = yield from _born(caller, definition)
        if (yield from storage.write_workflow(row, fact, new=True)):
            return row
    raise AlreadyExists(f"Workflow {definition.name!r} was defined meanwhile.", "Define it again.")


def _born(caller: Caller, definition: WorkflowDefinition) -> Op[tuple[WorkflowRow, Fact]]:
    uid = (yield from caller.store.fresh_uids(1))[0]
    now = yield from caller.store.clock()
    data = {"name": definition.name, "version": definition.version, "fingerprint": definition.fingerprint}
    fact = Fact(uid, 1, ft.WORKFLOW_DEFINED, now, caller.tenant, caller.actor, data=data)
    fact.hash = fact.content_hash(b"")
    row = WorkflowRow(
        uid, caller.tenant, definition.name, definition.version, definition.canonical(),
        bytes.fromhex(definition.fingerprint), now, seq=1, head=fact.hash,
    )  # fmt: skip
    return row, fact


def _retire(caller: Caller, name: str, version: int, reason: str | None) -> Op[WorkflowRow]:
    row = yield from workflow(caller, name, version)
    if row.retired_at is not None:
        return row
    now = yield from caller.store.clock()
    fact = Fact(
        row.uid, row.seq + 1, ft.WORKFLOW_RETIRED, now, caller.tenant, caller.actor,
        data={"reason": reason} if reason else None,
    )  # fmt: skip
    fact.hash = fact.content_hash(row.head)
    retired = replace(row, retired_at=now, seq=fact.seq, head=fact.hash)
    if not (yield from flow_of(caller).storage.write_workflow(retired, fact, new=False)):
        raise AlreadyExists(f"Workflow {name!r} was changed meanwhile.", "Read it again.")
    return retired


def _queues(caller: Caller, definition: WorkflowDefinition) -> Op[None]:
    """See that each step's queue is there and serves the step's template."""
    wanted: dict[str, dict[str, str]] = {}
    for step, work in works(definition):
        wanted.setdefault(queue_of(definition, work), {})[work.template] = step
    if not wanted:
        return
    yield from caller.store.define_template(caller.tenant, STEP_TEMPLATE, {}, caller.actor)
    found = yield from caller.store.queues(caller.tenant, sorted(wanted))
    for key, templates in sorted(wanted.items()):
        queue = found.get(key)
        if queue is None or queue.retired_at is not None:
            codes = tuple(sorted({JOB_TEMPLATE, STEP_TEMPLATE, *templates}))
            yield from define_queue(caller, QueuePolicy(queue_key=key, subject_template_codes=codes))
            continue
        for template, step in templates.items():
            if template not in queue.subject_template_codes:
                raise TemplateNotServed(
                    f"Step {step!r} needs queue {key!r} to serve {template!r}, but it serves "
                    f"{', '.join(queue.subject_template_codes)}.",
                    "Name another queue, or another template that the queue serves.",
                    step=step, queue_key=key, template=template,
                )  # fmt: skip


def works(definition: WorkflowDefinition) -> Iterator[tuple[str, Work]]:
    """What is asked of workers, by step."""
    for step in definition.steps:
        work = step.each if isinstance(step, MapStep) else step
        if isinstance(work, Work):
            yield step.name, work


def queue_of(definition: WorkflowDefinition, work: Work) -> str:
    """The queue of a piece of work: its own, or the workflow's."""
    return str(work.queue or definition.queue)
