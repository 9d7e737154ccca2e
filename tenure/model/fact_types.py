"""The registry of fact types that the kernel appends (S4 section 6.1 vocabularies; design 01, Facts)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tenure.model.safe_fields import COLUMNS, SAFE

SUBMITTED = "subject.submitted"
REQUEUED = "subject.requeued"
CANCELED = "subject.canceled"
CLAIMED = "lease.claimed"
RENEWED = "lease.renewed"
RELEASED = "lease.released"
EXPIRED = "lease.expired"
STARTED = "execution.started"
DISPATCHED = "execution.dispatched"
DEFERRED = "execution.deferred"
COMPLETED = "execution.completed"
FAILED = "execution.failed"
HOLD_PLACED = "hold.placed"
HOLD_RELEASED = "hold.released"
DEAD_LETTER_RESOLVED = "dead_letter.resolved"
QUEUE_DEFINED = "queue.defined"
QUEUE_UPDATED = "queue.updated"
QUEUE_RETIRED = "queue.retired"
WORKER_REGISTERED = "worker.registered"
WORKER_DRAINING = "worker.draining"
WORKER_DISABLED = "worker.disabled"
WORKER_ENABLED = "worker.enabled"
WORKER_RETIRED = "worker.retired"
TENANT_CREATED = "tenant.created"
TEMPLATE_DEFINED = "template.defined"
PRINCIPAL_CREATED = "principal.created"
PRINCIPAL_CHANGED = "principal.changed"
PASSWORD_SET = "principal.password_set"  # noqa: S105 # nosec B105
ACCESS_TOKEN_CREATED = "access_token.created"  # noqa: S105 # nosec B105
ACCESS_TOKEN_REVOKED = "access_token.revoked"  # noqa: S105 # nosec B105
WORKFLOW_DEFINED = "workflow.defined"
WORKFLOW_RETIRED = "workflow.retired"
SCHEDULE_DEFINED = "schedule.defined"
SCHEDULE_CHANGED = "schedule.changed"
SCHEDULE_FIRED = "schedule.fired"
NODE_DEFINED = "node.defined"
NODE_CHANGED = "node.changed"
SUBMISSION_ACCEPTED = "submission.accepted"
EVENT_RECEIVED = "execution_event.received"
PROJECTION_UPDATED = "projection.updated"
SUBSCRIPTION_DEFINED = "subscription.defined"
SUBSCRIPTION_CHANGED = "subscription.changed"
SUBSCRIPTION_REMOVED = "subscription.removed"
SUBSCRIPTION_KEY_ROTATED = "subscription.key_rotated"
SUBSCRIPTION_TESTED = "subscription.tested"
SUBSCRIPTION_STOPPED = "subscription.stopped"
EVENT_DEAD_LETTERED = "subscription.dead_lettered"
EVENT_DEAD_LETTER_RESOLVED = "subscription.dead_letter_resolved"
RETENTION_SET = "tenant.retention_set"
GIVE_UP_REQUESTED = "subscription.give_up_requested"

_OBJECT: dict[str, Any] = {"type": "object"}
_INT = {"type": "integer"}
_TEXT = {"type": "string"}
_UIDS = {"type": "array", "items": _INT}
_TEXTS = {"type": "array", "items": _TEXT}
_SET = {"type": "object"}


def _schema(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": ["object", "null"], "properties": properties, "required": list(required)}


@dataclass(frozen=True, slots=True)
class FactType:
    """One registered type. ``action`` is the action key that appends it (S1 section 7.1).

    ``safe`` names what may leave the database with its events. With ``event_id`` the data of the fact, written by a
    contract of its own, is the data of the event as it is, and the value under that key the id of the event.
    """

    type: str
    action: str
    domain: str
    stream: str
    schema: dict[str, Any]
    severity: str | None = None
    lane: str = "immediate"
    classification: str = "safe_metadata"
    version: int = 1
    safe: tuple[str, ...] = COLUMNS
    event_id: str | None = None


_TYPES = (
    FactType(SUBMITTED, "submit_subject", "execution", "birth", _schema(set=_SET)),
    FactType(REQUEUED, "requeue_subject", "execution", "update", _schema(reason=_TEXT, set=_SET, ended=_UIDS, record=_INT)),
    FactType(CANCELED, "cancel_subject_execution", "execution", "update", _schema(reason=_TEXT, ended=_UIDS, set=_SET)),
    FactType(CLAIMED, "claim_queue_item", "execution", "update", _schema(("ttl",), ttl=_INT, slot=_INT, started={})),
    FactType(RENEWED, "renew_queue_lease", "execution", "update", _schema(("expires_at",), expires_at=_TEXT)),
    FactType(RELEASED, "release_queue_lease", "execution", "update", _schema(reason=_TEXT)),
    FactType(EXPIRED, "expire_queue_lease", "execution", "alert", _schema(set=_SET, dead_letter=_INT), "warning"),
    FactType(STARTED, "start_execution", "execution", "update", _schema(deadline=_TEXT)),
    FactType(DISPATCHED, "dispatch_external", "execution", "update", _schema(external_ref=_TEXT)),
    FactType(DEFERRED, "fail_queue_execution", "execution", "update", _schema(set=_SET)),
    FactType(COMPLETED, "complete_queue_execution", "execution", "update", _schema(set=_SET, outputs=_UIDS)),
    FactType(
        FAILED, "fail_queue_execution", "execution", "alert",
        _schema(("error_class",), error_class=_TEXT, error_code=_TEXT, set=_SET, dead_letter=_INT, hold=_INT), "warning",
    ),
    FactType(HOLD_PLACED, "place_execution_hold", "execution", "alert",
             _schema(("hold", "code", "reason"), hold=_INT, code=_TEXT, reason=_TEXT, ended=_UIDS), "warning"),
    FactType(HOLD_RELEASED, "release_execution_hold", "execution", "update", _schema(("hold",), hold=_INT, reason=_TEXT)),
    FactType(DEAD_LETTER_RESOLVED, "resolve_dead_letter", "execution", "review",
             _schema(("dead_letter", "resolution"), dead_letter=_INT, resolution=_TEXT, reason=_TEXT)),
    FactType(QUEUE_DEFINED, "define_queue", "queue", "birth", _schema(("policy",), policy=_OBJECT)),
    FactType(QUEUE_UPDATED, "update_queue_policy", "queue", "update", _schema(("set",), set=_OBJECT)),
    FactType(QUEUE_RETIRED, "retire_queue", "queue", "update", _schema(reason=_TEXT)),
    FactType(WORKER_REGISTERED, "register_worker", "worker", "birth", _schema(("spec",), spec=_OBJECT)),
    FactType(WORKER_DRAINING, "drain_worker", "worker", "update", _schema(reason=_TEXT)),
    FactType(WORKER_DISABLED, "disable_worker", "worker", "alert", _schema(reason=_TEXT), "warning"),
    FactType(WORKER_ENABLED, "enable_worker", "worker", "update", _schema(reason=_TEXT)),
    FactType(WORKER_RETIRED, "retire_worker", "worker", "update", _schema(reason=_TEXT)),
    FactType(TENANT_CREATED, "create_tenant", "governance", "birth", _schema(("key",), key=_TEXT)),
    FactType(TEMPLATE_DEFINED, "define_template", "governance", "birth", _schema(("code",), code=_TEXT)),
    FactType(PRINCIPAL_CREATED, "create_principal", "governance", "birth",
             _schema(("name", "roles"), name=_TEXT, roles=_TEXTS, reason=_TEXT)),
    FactType(PRINCIPAL_CHANGED, "change_principal", "governance", "update",
             _schema(("set", "fields"), set=_OBJECT, fields=_TEXTS, reason=_TEXT)),
    FactType(PASSWORD_SET, "set_password", "governance", "update", _schema()),
    FactType(ACCESS_TOKEN_CREATED, "create_token", "governance", "birth",
             _schema(("access_token", "kind", "expires_at"), access_token=_INT, kind=_TEXT, label=_TEXT, roles=_TEXTS,
                     expires_at=_TEXT)),
    FactType(ACCESS_TOKEN_REVOKED, "revoke_token", "governance", "update",
             _schema(("access_token",), access_token=_INT, reason=_TEXT)),
    FactType(WORKFLOW_DEFINED, "define_workflow", "flow", "birth", _schema(("name", "version"), name=_TEXT, version=_INT)),
    FactType(WORKFLOW_RETIRED, "retire_workflow", "flow", "update", _schema(reason=_TEXT)),
    FactType(SCHEDULE_DEFINED, "define_schedule", "flow", "birth", _schema(("spec",), spec=_OBJECT)),
    FactType(SCHEDULE_CHANGED, "change_schedule", "flow", "update", _schema(set=_OBJECT, reason=_TEXT)),
    FactType(SCHEDULE_FIRED, "fire_schedule", "flow", "update", _schema(("due",), due=_TEXTS, started=_INT, skipped=_INT)),
    FactType(NODE_DEFINED, "define_node", "remote", "birth", _schema(("name", "spec"), name=_TEXT, spec=_OBJECT)),
    FactType(NODE_CHANGED, "define_node", "remote", "update", _schema(set=_OBJECT)),
    FactType(SUBMISSION_ACCEPTED, "submit_job", "remote", "birth",
             _schema(("job_id", "workspace_id", "node"), job_id=_TEXT, workspace_id=_TEXT, node=_TEXT, subject=_INT)),
    FactType(EVENT_RECEIVED, "receive_execution_event", "remote", "update",
             _schema(("event_id", "execution_id", "number", "state", "occurred_at"), event_id=_TEXT, execution_id=_TEXT,
                     number=_INT, state=_TEXT, occurred_at=_TEXT, applied={})),
    FactType(PROJECTION_UPDATED, "update_projection", "remote", "update",
             _schema(("projection_event_id", "projection_state", "projection_round", "occurred_at"),
                     projection_event_id=_TEXT, projection_state=_TEXT, projection_round=_INT, occurred_at=_TEXT),
             event_id="projection_event_id"),
    FactType(SUBSCRIPTION_DEFINED, "define_subscription", "system", "birth",
             _schema(("name", "spec"), name=_TEXT, spec=_OBJECT, position=_INT), safe=("name",)),
    FactType(SUBSCRIPTION_CHANGED, "change_subscription", "system", "update",
             _schema(("set",), set=_OBJECT, reason=_TEXT), safe=()),
    FactType(SUBSCRIPTION_REMOVED, "remove_subscription", "system", "update", _schema(reason=_TEXT), safe=()),
    FactType(SUBSCRIPTION_KEY_ROTATED, "rotate_signing_key", "system", "update",
             _schema(("number", "kept"), number=_INT, kept=_UIDS), safe=("number",)),
    FactType(SUBSCRIPTION_TESTED, "test_subscription", "system", "update", _schema(), safe=()),
    FactType(SUBSCRIPTION_STOPPED, "deliver_event", "system", "alert",
             _schema(("dead_letter", "code"), dead_letter=_INT, code=_TEXT), "critical", safe=("code",)),
    FactType(EVENT_DEAD_LETTERED, "deliver_event", "system", "alert",
             _schema(("dead_letter", "position", "code", "attempts"), dead_letter=_INT, position=_INT, code=_TEXT, attempts=_INT),
             "warning", safe=("code", "attempts")),
    FactType(EVENT_DEAD_LETTER_RESOLVED, "resolve_event_dead_letter", "system", "review",
             _schema(("dead_letter", "resolution"), dead_letter=_INT, resolution=_TEXT, reason=_TEXT), safe=("resolution",)),
    FactType(GIVE_UP_REQUESTED, "give_up_event", "system", "review",
             _schema(("position", "event", "reason"), position=_INT, event=_TEXT, reason=_TEXT), safe=("event",)),
    FactType(RETENTION_SET, "set_retention", "governance", "update",
             _schema(("kind", "days"), kind=_TEXT, days=_INT, reason=_TEXT), safe=("kind", "days")),
    # The facts of a run, as tenure.flow.model.facts has them.
    FactType("run.started", "start_run", "flow", "birth", _schema(("workflow", "version"), workflow=_TEXT, version=_INT)),
    FactType("run.results_adopted", "retry_run", "flow", "update", _schema()),
    FactType("run.runnables_planned", "plan_runnables", "flow", "task", _schema()),
    FactType("run.runnable_applied", "apply_runnable", "flow", "update", _schema()),
    FactType("run.step_logged", "log_step", "flow", "comment", _schema()),
    FactType("run.step_paused", "pause_step", "flow", "review", _schema()),
    FactType("run.step_resolved", "resolve_step", "flow", "review", _schema()),
    FactType("run.deadline_passed", "expire_step", "flow", "alert", _schema(), "warning"),
    FactType("run.step_stuck", "apply_runnable", "flow", "alert", _schema(), "warning"),
    FactType("run.route_followed", "apply_runnable", "flow", "update", _schema()),
    FactType("run.signal_received", "signal_run", "flow", "update", _schema()),
    FactType("run.signal_taken", "take_signal", "flow", "update", _schema()),
    FactType("run.signal_awaited", "await_signal", "flow", "update", _schema()),
    FactType("run.child_started", "start_child_run", "flow", "update", _schema()),
    FactType("run.paused", "pause_run", "flow", "update", _schema()),
    FactType("run.resumed", "resume_run", "flow", "update", _schema()),
    FactType("run.cancel_requested", "cancel_run", "flow", "update", _schema()),
    FactType("run.failure_noted", "fail_run", "flow", "alert", _schema(), "warning"),
    FactType("run.compensation_planned", "plan_compensation", "flow", "update", _schema()),
    FactType("run.migrated", "migrate_run", "flow", "update", _schema()),
    FactType("run.step_kept", "keep_step", "flow", "update", _schema()),
    FactType("run.terminal", "end_run", "flow", "update", _schema()),
)  # fmt: skip

REGISTRY: dict[str, FactType] = {
    each.type: replace(each, safe=SAFE[each.type]) if each.type in SAFE else each for each in _TYPES
}
