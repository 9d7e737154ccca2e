-- Workflow runs on the journal (docs/decisions/0010): a run is a thread of facts, its row the envelope for lists and locks.

-- One version of a definition; owner of a thread (workflow.defined, workflow.retired).
create table workflow (
    uid bigint primary key,
    tenant bigint not null references tenant,
    name text collate "C" not null check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.:/@+-]*$' and length(name) <= 200),
    version int not null check (version > 0),
    definition jsonb not null,
    fingerprint bytea not null check (octet_length(fingerprint) = 32),
    created_at timestamptz not null,
    retired_at timestamptz,
    seq int not null,
    head bytea not null,
    unique (tenant, name, version)
);

create table run (
    uid bigint primary key,
    tenant bigint not null,
    workflow bigint not null references workflow,
    status text collate "C" not null check (status in ('RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELED')),
    run_key text check (run_key <> '' and length(run_key) <= 500),
    name text collate "C" not null,
    input jsonb,
    input_hash bytea not null check (octet_length(input_hash) = 32),
    root bigint,
    parent_run bigint,
    parent_runnable text,
    correlation_id text,
    trace_id text,
    boundary jsonb,
    wake_at timestamptz,
    output jsonb,
    started_at timestamptz not null,
    ended_at timestamptz,
    seq int not null,
    head bytea not null,
    ended boolean not null generated always as (status in ('COMPLETED', 'FAILED', 'CANCELED')) stored,
    constraint ends_at_its_end check ((ended_at is not null) = (status in ('COMPLETED', 'FAILED', 'CANCELED')))
) with (fillfactor = 70);
-- `name` is the workflow's: a key belongs to a workflow whatever its version.
create unique index run_key on run (run_key, name, tenant) where run_key is not null;
create index run_recent on run (tenant, uid desc);
create index run_of_workflow on run (tenant, name, uid desc);
create index run_by_status on run (tenant, status, uid desc);
create index run_children on run (parent_run) where parent_run is not null;
create index run_wake on run (wake_at) where wake_at is not null;

-- Which subject stands for which runnable of which run; written once.
create table runnable (
    subject bigint primary key,
    tenant bigint not null,
    run bigint not null references run,
    runnable_key text collate "C" not null,
    step text collate "C" not null,
    iteration int not null check (iteration > 0),
    unique (run, runnable_key)
);

-- What facts of a run refer to: payloads of signals, results of steps in code. Written once.
create table run_payload (
    uid bigint primary key,
    tenant bigint not null,
    run bigint not null references run,
    data jsonb
);

-- A fold and what it covers: speed only, so it may be overwritten and lost.
create table journal_checkpoint (
    thread bigint primary key references run,
    tenant bigint not null,
    rev int not null check (rev > 0),
    head bytea not null check (octet_length(head) = 32),
    format int not null,
    state jsonb not null
) with (fillfactor = 50);

-- Step by step: with a default at once, PostgreSQL before 18 refuses the column, since functions take rows of this table.
alter table execution add column in_run boolean;
alter table execution alter column in_run set default false;
alter table execution disable trigger user;
update execution set in_run = false;
alter table execution enable trigger user;
alter table execution alter column in_run set not null;

-- The length of a thread whose owner is not a subject.
create or replace function thread_length(thread bigint) returns int language sql stable
return coalesce(
    (select r.seq from tenure.run r where r.uid = thread),
    (select w.seq from tenure.worker w where w.uid = thread),
    (select q.seq from tenure.queue q where q.uid = thread),
    (select t.seq from tenure.tenant t where t.uid = thread),
    (select p.seq from tenure.principal p where p.uid = thread),
    (select w.seq from tenure.workflow w where w.uid = thread), 0);

create trigger kept before delete on workflow for each row execute function refuse_edit();
create trigger kept_truncate before truncate on workflow execute function refuse_edit();
create trigger kept before delete on run for each row execute function refuse_edit();
create trigger kept_truncate before truncate on run execute function refuse_edit();
create trigger written_once before update or delete on runnable for each row execute function refuse_edit();
create trigger written_once_truncate before truncate on runnable execute function refuse_edit();

create trigger written_once before update or delete on run_payload for each row execute function refuse_edit();
create trigger written_once_truncate before truncate on run_payload execute function refuse_edit();

create trigger law_owner_insert after insert on workflow for each row execute function law_owner();
create trigger law_owner_update after update on workflow for each row when (old.* is distinct from new.*) execute function law_owner();
create trigger law_owner_silent before update on workflow for each row
when (new.seq <= old.seq or (old.uid, old.tenant, old.name, old.version, old.definition, old.fingerprint, old.created_at)
    is distinct from (new.uid, new.tenant, new.name, new.version, new.definition, new.fingerprint, new.created_at))
execute function refuse_silent_owner();

create trigger law_owner_insert after insert on run for each row execute function law_owner();
create trigger law_owner_update after update on run for each row when (old.seq <> new.seq or old.head <> new.head) execute function law_owner();
create function refuse_run_change() returns trigger language plpgsql as $$
begin
    if new.seq <= old.seq then
        raise exception 'Silent change of run %: no fact tells of it', tenure.euid('FX', old.uid)
            using errcode = 'TN003', hint = 'Append the fact that tells of the change, in the same statement.';
    end if;
    raise exception 'Illegal change of run %: % to %', tenure.euid('FX', old.uid), old.status, new.status
        using errcode = 'TN002', hint = 'What a run was started with never changes, nor does a run that has ended: replay or retry it as a new one.';
end
$$;
-- `workflow` changes by migration to another version of the same name. When something falls due follows from the facts, so
-- `wake_at` alone may change without one.
create trigger law_run before update on run for each row
when (new.seq < old.seq
    or (new.seq = old.seq and (old.workflow, old.status, old.boundary, old.output, old.ended_at, old.head)
        is distinct from (new.workflow, new.status, new.boundary, new.output, new.ended_at, new.head))
    or (old.uid, old.tenant, old.name, old.run_key, old.input, old.input_hash, old.root, old.parent_run, old.parent_runnable, old.correlation_id, old.trace_id, old.started_at)
    is distinct from
    (new.uid, new.tenant, new.name, new.run_key, new.input, new.input_hash, new.root, new.parent_run, new.parent_runnable, new.correlation_id, new.trace_id, new.started_at)
    or (old.status not in ('RUNNING', 'PAUSED') and new.seq <> old.seq))
execute function refuse_run_change();

-- What stands for a runnable says so in a row of its own, and never begins or ceases to.
create function law_in_run() returns trigger language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off as $$
declare
    bad bigint;
begin
    select n.uid into bad
    from written n
    left join lateral (select true as there from tenure.runnable r where r.subject = n.uid offset 0) r on true
    where n.in_run and r.there is null
    limit 1;
    if found then
        raise exception 'Subject % is said to stand for a runnable that is not there', tenure.euid('SX', bad)
            using errcode = 'TN006', hint = 'Append to the run first what plans the runnable.';
    end if;
    return null;
end
$$;
create trigger law_in_run after insert on execution referencing new table as written for each statement execute function law_in_run();
create trigger law_in_run_stays before update of in_run on execution for each row
when (old.in_run <> new.in_run) execute function refuse_edit();

-- What the HTTP API may do, within its tenant.
insert into api_right (relation, rights) values
    ('workflow', 'select, insert, update'),
    ('run', 'select, insert, update'),
    ('runnable', 'select, insert'),
    ('run_payload', 'select, insert'),
    ('journal_checkpoint', 'select, insert, update');
select admit_api();

-- The fact types of workflows and runs, as in tenure.model.fact_types; a test compares the two.
insert into fact_type (type, action, domain, stream, lane, severity, classification, version, schema) values
    ('workflow.defined', 'define_workflow', 'flow', 'birth', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"name": {"type": "string"}, "version": {"type": "integer"}}, "required": ["name", "version"]}'),
    ('workflow.retired', 'retire_workflow', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"reason": {"type": "string"}}, "required": []}'),
    ('run.started', 'start_run', 'flow', 'birth', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"workflow": {"type": "string"}, "version": {"type": "integer"}}, "required": ["workflow", "version"]}'),
    ('run.results_adopted', 'retry_run', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.runnables_planned', 'plan_runnables', 'flow', 'task', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.runnable_applied', 'apply_runnable', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.step_logged', 'log_step', 'flow', 'comment', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.step_paused', 'pause_step', 'flow', 'review', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.step_resolved', 'resolve_step', 'flow', 'review', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.deadline_passed', 'expire_step', 'flow', 'alert', 'immediate', 'warning', 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.step_stuck', 'apply_runnable', 'flow', 'alert', 'immediate', 'warning', 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.route_followed', 'apply_runnable', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.signal_received', 'signal_run', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.signal_taken', 'take_signal', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.signal_awaited', 'await_signal', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.child_started', 'start_child_run', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.paused', 'pause_run', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.resumed', 'resume_run', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.cancel_requested', 'cancel_run', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.failure_noted', 'fail_run', 'flow', 'alert', 'immediate', 'warning', 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.compensation_planned', 'plan_compensation', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.migrated', 'migrate_run', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.step_kept', 'keep_step', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('run.terminal', 'end_run', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}');
