"""The methods of both clients: each operation once, called as a function by one and awaited by the other."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

from tenure.engine.caller import Caller
from tenure.sdk import operations as ops
from tenure.sdk import remote as border
from tenure.sdk import retention as kept
from tenure.sdk import runs as flow
from tenure.sdk import subscriptions as events
from tenure.sdk.http.operations import remote
from tenure.store.operation import Op

if TYPE_CHECKING:
    from tenure.sdk.client import AsyncTenure, Tenure

P = ParamSpec("P")
T = TypeVar("T")


class Action(Generic[P, T]):
    """A descriptor that binds an operation to a client: sync on ``Tenure``, awaitable on ``AsyncTenure``."""

    def __init__(self, operation: Callable[Concatenate[Caller, P], Op[T]]) -> None:
        self._operation = operation
        update_wrapper(cast("Any", self), operation)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, client: None, owner: type) -> Action[P, T]: ...
    @overload
    def __get__(self, client: Tenure, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncTenure, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            if client.address is not None:
                return client.send(remote(self._operation.__name__, args, kwargs))
            return client.perform(lambda caller: self._operation(caller, *args, **kwargs))

        # Bound once: the client's own attribute is found before this descriptor is asked again.
        bound = update_wrapper(call, self._operation)
        client.__dict__[self._name] = bound
        return bound


class Actions:
    """Everything a client can do (design 01, The actions; Reading; Verify)."""

    define_queue = Action(ops.define_queue)
    update_queue_policy = Action(ops.update_queue_policy)
    retire_queue = Action(ops.retire_queue)
    define_template = Action(ops.define_template)
    register_worker = Action(ops.register_worker)
    heartbeat_worker = Action(ops.heartbeat_worker)
    drain_worker = Action(ops.drain_worker)
    disable_worker = Action(ops.disable_worker)
    enable_worker = Action(ops.enable_worker)
    retire_worker = Action(ops.retire_worker)

    create_principal = Action(ops.create_principal)
    change_principal = Action(ops.change_principal)
    disable_principal = Action(ops.disable_principal)
    enable_principal = Action(ops.enable_principal)
    set_password = Action(ops.set_password)
    principal = Action(ops.principal)
    principals = Action(ops.principals_all)
    create_token = Action(ops.create_token)
    revoke_token = Action(ops.revoke_token)
    tokens = Action(ops.tokens)

    submit = Action(ops.submit)
    submit_many = Action(ops.submit_many)
    claim = Action(ops.claim)
    start = Action(ops.start)
    dispatch_external = Action(ops.dispatch_external)
    renew = Action(ops.renew)
    release_lease = Action(ops.release_lease)
    complete = Action(ops.complete)
    fail = Action(ops.fail)
    defer = Action(ops.defer)

    hold = Action(ops.hold)
    release_hold = Action(ops.release_hold)
    requeue = Action(ops.requeue)
    cancel = Action(ops.cancel)
    resolve_dead_letter = Action(ops.resolve_dead_letter)
    expire_lease = Action(ops.expire_lease)
    sweep = Action(ops.sweep)

    why = Action(ops.why)
    inspect = Action(ops.inspect)
    history = Action(ops.history)
    as_of = Action(ops.as_of)
    find_subject = Action(ops.find_subject)
    facts = Action(ops.facts)
    queue = Action(ops.queue)
    queues = Action(ops.queues_all)
    queue_items = Action(ops.queue_items)
    chosen_items = Action(ops.chosen_items)
    find_subjects = Action(ops.find_subjects)
    worker_loads = Action(ops.worker_loads)
    metrics = Action(ops.metrics)
    sample_queues = Action(ops.sample_queues)
    queue_samples = Action(ops.queue_samples)
    latest_metrics = Action(ops.latest_metrics)
    workers = Action(ops.workers_all)
    leases = Action(ops.leases)
    dead_letters = Action(ops.dead_letters)
    holds = Action(ops.holds)
    lineage = Action(ops.lineage)
    verify = Action(ops.verify)

    define_workflow = Action(flow.define_workflow)
    retire_workflow = Action(flow.retire_workflow)
    workflow_row = Action(flow.workflow_row)
    workflows_all = Action(flow.workflows_all)
    start_run = Action(flow.start_run)
    start_runs = Action(flow.start_runs)
    signal_run = Action(flow.signal_run)
    signal_job = Action(flow.signal_job)
    cancel_run = Action(flow.cancel_run)
    pause_run = Action(flow.pause_run)
    resume_run = Action(flow.resume_run)
    approve = Action(flow.approve)
    reject = Action(flow.reject)
    replay_run = Action(flow.replay_run)
    retry_run = Action(flow.retry_run)
    migrate_run = Action(flow.migrate_run)
    inspect_run = Action(flow.inspect_run)
    runs = Action(flow.runs)
    explain_run = Action(flow.explain_run)
    run_graph = Action(flow.run_graph)
    workflow_graph = Action(flow.workflow_graph)
    run_timeline = Action(flow.run_timeline)
    run_as_of = Action(flow.run_as_of)
    recover_runs = Action(flow.recover_runs)
    define_schedule = Action(flow.define_schedule)
    schedules = Action(flow.schedules_all)
    pause_schedule = Action(flow.pause_schedule)
    resume_schedule = Action(flow.resume_schedule)
    tick_runs = Action(flow.tick_runs)

    define_subscription = Action(events.define_subscription)
    subscriptions = Action(events.subscriptions_all)
    subscription = Action(events.subscription)
    failed_deliveries = Action(events.failed_deliveries)
    explain_subscription = Action(events.explain_subscription)
    waiting_events = Action(events.waiting_events)
    give_up_event = Action(events.give_up_event)
    pause_subscription = Action(events.pause_subscription)
    resume_subscription = Action(events.resume_subscription)
    remove_subscription = Action(events.remove_subscription)
    rotate_signing_key = Action(events.rotate_signing_key)
    test_subscription = Action(events.test_subscription)
    event_dead_letters = Action(events.event_dead_letters)
    redeliver_event = Action(events.redeliver_event)
    ignore_event = Action(events.ignore_event)

    retention = Action(kept.retention)
    set_retention = Action(kept.set_retention)
    clean = Action(kept.clean)

    define_node = Action(border.define_node)
    node = Action(border.node)
    nodes = Action(border.nodes_all)
    poll_node = Action(border.poll_node)
    submit_job = Action(border.submit_job)
    submission = Action(border.submission)
    submissions = Action(border.submissions)
    submission_history = Action(border.submission_history)
    cancel_submission = Action(border.cancel_submission)
    receive_events = Action(border.receive_events)
