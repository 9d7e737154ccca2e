-- What may leave the database with an event of each fact type, as in tenure.model.safe_fields; a test compares the two.
-- With event_id_key the data of the fact is wholly the data of its event, and the value under that key is the event's id.
alter table fact_type
    add column safe_fields text[] not null default '{state, revision, queue_key, lease, worker}',
    add column event_id_key text check (event_id_key <> '');

update fact_type t set safe_fields = s.fields
from (values
    ('subject.requeued', '{state, revision, queue_key, lease, worker, ended, record}'::text[]),
    ('subject.canceled', '{state, revision, queue_key, lease, worker, ended}'::text[]),
    ('lease.claimed', '{state, revision, queue_key, lease, worker, ttl, slot}'::text[]),
    ('lease.renewed', '{state, revision, queue_key, lease, worker, expires_at}'::text[]),
    ('lease.expired', '{state, revision, queue_key, lease, worker, dead_letter}'::text[]),
    ('execution.completed', '{state, revision, queue_key, lease, worker, outputs}'::text[]),
    ('execution.failed', '{state, revision, queue_key, lease, worker, error_class, error_code, dead_letter, hold}'::text[]),
    ('hold.placed', '{state, revision, queue_key, lease, worker, hold, code, ended}'::text[]),
    ('hold.released', '{state, revision, queue_key, lease, worker, hold}'::text[]),
    ('dead_letter.resolved', '{state, revision, queue_key, lease, worker, dead_letter, resolution}'::text[]),
    ('tenant.created', '{key}'::text[]),
    ('template.defined', '{code}'::text[]),
    ('principal.created', '{roles}'::text[]),
    ('principal.changed', '{fields}'::text[]),
    ('access_token.created', '{access_token, kind, roles, expires_at}'::text[]),
    ('access_token.revoked', '{access_token}'::text[]),
    ('workflow.defined', '{name, version}'::text[]),
    ('schedule.fired', '{due, started, skipped}'::text[]),
    ('run.started', '{workflow, version}'::text[]),
    ('run.runnable_applied', '{step, iteration, outcome}'::text[]),
    ('run.step_logged', '{step, iteration, level}'::text[]),
    ('run.step_paused', '{step, iteration, kind, deadline}'::text[]),
    ('run.step_resolved', '{step, iteration, decision}'::text[]),
    ('run.deadline_passed', '{step, iteration}'::text[]),
    ('run.step_stuck', '{step, iteration}'::text[]),
    ('run.signal_received', '{name}'::text[]),
    ('run.child_started', '{step, iteration, workflow, version}'::text[]),
    ('run.failure_noted', '{step, iteration, code}'::text[]),
    ('run.compensation_planned', '{cause}'::text[]),
    ('run.migrated', '{before, version}'::text[]),
    ('run.terminal', '{status, code, step}'::text[])) s(type, fields)
where t.type = s.type;
