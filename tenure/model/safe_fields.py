"""What may leave the database with an event of each fact type (design 05, Out; S4 section 4).

Nothing that people or tasks wrote freely is among it: no reason, no message, no name, no reference of another system. What a
type does not list stays. The names are columns of the fact, then keys of its data.
"""

from __future__ import annotations

#: What every fact type lets go that lists nothing of its own: where its subject stands, and under whose lease.
COLUMNS = ("state", "revision", "queue_key", "lease", "worker")
_STEP = ("step", "iteration")

#: Of the types that let go more, or less.
SAFE: dict[str, tuple[str, ...]] = {
    "subject.requeued": (*COLUMNS, "ended", "record"),
    "subject.canceled": (*COLUMNS, "ended"),
    "lease.claimed": (*COLUMNS, "ttl", "slot"),
    "lease.renewed": (*COLUMNS, "expires_at"),
    "lease.expired": (*COLUMNS, "dead_letter"),
    "execution.completed": (*COLUMNS, "outputs"),
    "execution.failed": (*COLUMNS, "error_class", "error_code", "dead_letter", "hold"),
    "hold.placed": (*COLUMNS, "hold", "code", "ended"),
    "hold.released": (*COLUMNS, "hold"),
    "dead_letter.resolved": (*COLUMNS, "dead_letter", "resolution"),
    "tenant.created": ("key",),
    "template.defined": ("code",),
    "principal.created": ("roles",),
    "principal.changed": ("fields",),
    "access_token.created": ("access_token", "kind", "roles", "expires_at"),
    "access_token.revoked": ("access_token",),
    "workflow.defined": ("name", "version"),
    "schedule.fired": ("due", "started", "skipped"),
    "node.defined": ("worker",),
    "node.changed": (),
    "submission.accepted": ("node",),
    "execution_event.received": ("event_id", "execution_id", "number", "applied"),
    "run.started": ("workflow", "version"),
    "run.runnable_applied": (*_STEP, "outcome"),
    "run.step_logged": (*_STEP, "level"),
    "run.step_paused": (*_STEP, "kind", "deadline"),
    "run.step_resolved": (*_STEP, "decision"),
    "run.deadline_passed": _STEP,
    "run.step_stuck": _STEP,
    "run.signal_received": ("name",),
    "run.child_started": (*_STEP, "workflow", "version"),
    "run.failure_noted": (*_STEP, "code"),
    "run.compensation_planned": ("cause",),
    "run.migrated": ("before", "version"),
    "run.terminal": ("status", "code", "step"),
}
