"""Event triggers: a fact of the ledger starts a run, once (design 02, Model; design 05, Trigger-out).

Each event trigger of a workflow's newest version is a subscription, so cursor, leader, retries and dead letters are those of
any other. The run's key names the fact: sent twice, it starts one run. A chain of runs that start each other ends at a depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenure.engine.caller import Caller
from tenure.flow.engine.beginning import Start
from tenure.flow.engine.flow import flow_of
from tenure.flow.engine.starting import start
from tenure.flow.model.definition import Trigger, WorkflowDefinition
from tenure.flow.model.errors import RunKeyConflict
from tenure.flow.model.mapping import MappingFailed
from tenure.flow.model.triggering import fits, input_of
from tenure.ledger.subscriptions import define_subscription, remove_subscription, subscriptions
from tenure.model import euid
from tenure.model.cloud_event import thread_euid
from tenure.model.errors import Conflict, InvalidEuid, InvalidPayload
from tenure.model.fact import Fact
from tenure.model.requests import validated
from tenure.model.subscription import SubscriptionSpec
from tenure.store.operation import Op
from tenure.store.records import Refused

ACTOR = "service:flow"
DEEPEST = 10
"""So many runs may stand in a chain of which each was started by an event of the one before."""
_KEY = "event:"


class TriggerCycle(Conflict):
    """A run would be started by an event of a run that was itself started so, too many times over."""

    code = "trigger_cycle"


def route_events(caller: Caller, definition: WorkflowDefinition) -> Op[None]:
    """Make the subscriptions that a definition's event triggers are, and remove those of triggers that it has no more."""
    if not flow_of(caller).storage.relayed:
        return
    wanted = {_name(definition.name, t.name): t for t in definition.triggers if t.kind == "event"}
    if not wanted and definition.version == 1:
        return
    there = yield from subscriptions(caller)
    prefix = _name(definition.name, "")
    for standing in there:
        name = standing.subscription.name
        if name.startswith(prefix) and standing.subscription.spec.destination.kind == "workflow" and name not in wanted:
            yield from remove_subscription(caller, name, "the workflow has no such trigger any more")
    for name, trigger in wanted.items():
        yield from define_subscription(caller, _spec(name, definition.name, trigger))


def start_by_event(
    caller: Caller, workflow: str, trigger_name: str, fact: Fact, event: Mapping[str, Any]
) -> Op[int | None]:
    """Start the run that a fact starts by a trigger: its uid; None where the trigger does not fit, or is gone.

    Raises TriggerCycle, and InvalidPayload for an input that cannot be worked out or breaks the schema.
    """
    flow = flow_of(caller)
    row = yield from flow.storage.workflow(caller.tenant, workflow)
    if row is None:
        return None
    definition = (yield from flow.definitions(caller.tenant, [row.uid]))[row.uid]
    trigger = next((t for t in definition.triggers if t.name == trigger_name and t.kind == "event"), None)
    if trigger is None or not fits(trigger, fact.type, event):
        return None
    yield from _guard(caller, fact, workflow, trigger_name)
    try:
        value = input_of(trigger, event)
    except MappingFailed as error:
        raise InvalidPayload(
            f"The input of trigger {trigger_name!r} of {workflow!r} cannot be worked out: {error}.",
            "Correct the trigger; then send the event once more.",
        ) from None
    key = f"{_KEY}{trigger_name}:{thread_euid(fact)}/{fact.seq}"
    request = Start(workflow, value, key, trigger=trigger_name, correlation_id=fact.correlation_id)
    try:
        return (yield from start(caller, request)).run
    except RunKeyConflict:  # it was started by a version that was the newest then
        return None


def _guard(caller: Caller, fact: Fact, workflow: str, trigger: str) -> Op[None]:
    chain = yield from _chain(caller, fact.thread)
    if len(chain) < DEEPEST:
        return
    told = " <- ".join(euid.format_euid(euid.RUN, run) for run in chain)
    message = f"Trigger {trigger!r} of {workflow!r} would start a run at the end of a chain of {len(chain)}: {told}."
    yield from caller.store.refuse(caller.tenant, [Refused(TriggerCycle.code, "start_run", caller.actor, message)])
    raise TriggerCycle(message, "Narrow the trigger's conditions, so that it does not fit what it starts itself.")


def _chain(caller: Caller, thread: int) -> Op[list[int]]:
    """The runs that led to a fact of this thread, the latest first: each was started by an event of the next."""
    storage = flow_of(caller).storage
    chain: list[int] = []
    while len(chain) < DEEPEST:
        runs = yield from storage.runs(caller.tenant, [thread])
        if thread not in runs:
            runnable = (yield from storage.runnables_of(caller.tenant, [thread])).get(thread)
            runs = (yield from storage.runs(caller.tenant, [runnable.run])) if runnable is not None else {}
        row = next(iter(runs.values()), None)
        while row is not None and row.parent_run is not None:
            row = (yield from storage.runs(caller.tenant, [row.parent_run])).get(row.parent_run)
        if row is None:
            break
        chain.append(row.uid)
        origin = _origin(row.run_key)
        if origin is None:
            break
        thread = origin
    return chain


def _origin(key: str | None) -> int | None:
    """The thread of the fact that started a run with this key."""
    if key is None or not key.startswith(_KEY):
        return None
    try:
        return euid.parse_euid(key.rpartition(":")[2].partition("/")[0])
    except InvalidEuid:
        return None


def _name(workflow: str, trigger: str) -> str:
    return f"workflow.{workflow}.{trigger}"


def _spec(name: str, workflow: str, trigger: Trigger) -> SubscriptionSpec:
    return validated(
        SubscriptionSpec, name=name, actor=ACTOR, filter={"types": [trigger.event]},
        destination={"kind": "workflow", "workflow": workflow, "trigger": trigger.name},
    )  # fmt: skip
