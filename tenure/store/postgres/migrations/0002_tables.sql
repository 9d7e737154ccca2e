-- The tables. Owners of threads (tenant, queue, worker, execution) carry `seq`, the length of their thread, and `head`,
-- the hash of its last fact, so that appending needs no look-up.
--
-- Edges between hot rows are checked by the law triggers instead of foreign keys: a foreign key would lock the parent
-- row once for every child (queue and worker are parents of everything), and parents are never deleted.

create table tenant (
    uid bigint primary key,
    key text collate "C" not null unique check (key ~ '^[A-Za-z0-9][A-Za-z0-9_.:/@+-]*$' and length(key) <= 200),
    created_at timestamptz not null,
    seq int not null,
    head bytea not null
);

create table template (
    uid bigint primary key,
    tenant bigint not null references tenant,
    code text collate "C" not null check (code ~ '^[A-Za-z0-9][A-Za-z0-9_.:/@+-]*$' and length(code) <= 200),
    properties_schema jsonb not null default '{}',
    created_at timestamptz not null,
    unique (tenant, code)
);

create table queue (
    uid bigint primary key,
    tenant bigint not null references tenant,
    queue_key text collate "C" not null check (queue_key ~ '^[A-Za-z0-9][A-Za-z0-9_.:/@+-]*$' and length(queue_key) <= 200),
    display_name text not null,
    enabled boolean not null,
    manual_only boolean not null,
    operator_visible boolean not null,
    dispatch_priority int not null,
    subject_template_codes text[] not null check (cardinality(subject_template_codes) > 0),
    eligible_states state[] not null check (eligible_states <@ array['READY', 'FAILED_RETRYABLE']::state[]),
    required_worker_capabilities text[] not null,
    site_scope text[] not null,
    platform_scope text[] not null,
    assay_scope text[] not null,
    lease_ttl_seconds int not null check (lease_ttl_seconds > 0),
    max_attempts_default int not null check (max_attempts_default > 0),
    retry_policy jsonb not null,
    diagnostics_enabled boolean not null,
    disabled_reason text,
    revision int not null,
    created_at timestamptz not null,
    retired_at timestamptz,
    seq int not null,
    head bytea not null
);
create unique index one_active_queue on queue (tenant, queue_key) where retired_at is null;

create table worker (
    uid bigint primary key,
    tenant bigint not null references tenant,
    worker_key text collate "C" not null,
    display_name text not null,
    worker_type worker_type not null,
    status worker_status not null,
    capabilities text[] not null,
    site_scope text[] not null,
    platform_scope text[] not null,
    assay_scope text[] not null,
    max_concurrent_leases int not null check (max_concurrent_leases > 0),
    heartbeat_at timestamptz not null,
    heartbeat_ttl_seconds int not null check (heartbeat_ttl_seconds > 0),
    build_version text not null,
    host text not null,
    process_identity text not null,
    incarnation int not null,
    drain_requested boolean not null,
    disabled_reason text,
    last_error_at timestamptz,
    last_error_class text,
    revision int not null,
    created_at timestamptz not null,
    seq int not null,
    head bytea not null,
    unique (tenant, worker_key)
) with (fillfactor = 50);

-- The data tier of a subject, written once.
create table subject (
    uid bigint primary key,
    tenant bigint not null,
    template bigint not null,
    name text,
    external_ref text,
    properties jsonb not null,
    payload_ref text,
    submit_key text,
    correlation_id text,
    created_at timestamptz not null
);
create unique index subject_external_ref on subject (tenant, external_ref) where external_ref is not null;
create unique index subject_submit_key on subject (tenant, submit_key) where submit_key is not null;
create index subject_correlation on subject (tenant, correlation_id) where correlation_id is not null;

-- The execution envelope (S1 1.3), one row a subject. `claimable` is all that a claim's index depends on, so that a
-- completion changes no indexed column and stays heap-only. law_envelope checks what a row must hold. `deferred` keeps rows that are not due yet out of that index.
create table execution (
    uid bigint primary key,
    tenant bigint not null,
    created_at timestamptz not null,
    ready_at timestamptz,
    due_at timestamptz,
    retry_at timestamptz,
    eligible_at timestamptz not null generated always as (coalesce(retry_at, ready_at, created_at)) stored,
    attempt_count int not null default 0,
    max_attempts_override int,
    priority smallint not null default 0,
    slots_total smallint not null default 1,
    hold_state hold_state not null default 'NONE',
    cancel_requested boolean not null default false,
    deferred boolean not null default false,
    next_queue_key text collate "C",
    next_action_key text,
    hold_reason text,
    site text,
    platform text,
    assay text,
    -- What a claim and a completion change stands together at the end: WAL keeps only what differs between two versions.
    claimable boolean not null generated always as (
        state in ('READY', 'FAILED_RETRYABLE') and slots_free > 0 and not cancel_requested and hold_state <> 'ACTIVE'
        and not deferred) stored,
    slots_free smallint not null default 1,
    slots_done smallint not null default 0,
    state state not null,
    seq int not null,
    revision int not null,
    last_record bigint,
    head bytea not null
) with (fillfactor = 50);

-- The order of S1 3.4, and within one queue nothing else: a claim reads what it takes.
create index claimable on execution
    (tenant, next_queue_key, (-priority), (coalesce(due_at, 'infinity'::timestamptz)), eligible_at, created_at, uid)
    where claimable;
create index deferred on execution (tenant, next_queue_key, eligible_at) where deferred;
-- By `hold_state`, which a completion leaves alone, not by `state`, which it changes.
create index held on execution (tenant, next_queue_key) where hold_state = 'ACTIVE';

create table attempt (
    uid bigint primary key,
    tenant bigint not null,
    subject bigint not null,
    queue bigint not null,
    worker bigint,
    incarnation int not null default 1,
    attempt_number int not null,
    ttl_seconds int,
    start_revision int,
    slot smallint not null default 1,
    shared boolean not null default false,
    retryable boolean,
    start_state state,
    claimed_at timestamptz,
    started_at timestamptz,
    heartbeat_at timestamptz,
    expires_at timestamptz,
    token_hash bytea,
    claim_hash bytea,
    claim_key text,
    action_key text,
    -- What its end changes stands together.
    lease_status lease_status,
    record_status record_status not null,
    end_state state,
    end_revision int,
    ended_at timestamptz,
    release_reason text,
    external_ref text,
    error_class text,
    error_code text,
    error_message text,
    result_ref text,
    result jsonb,
    constraint both_faces_end_together check ((lease_status is not distinct from 'ACTIVE') = (record_status = 'STARTED')),
    constraint a_lease_is_whole check (
        lease_status is null
        or (worker is not null and octet_length(token_hash) = 32 and token_hash is not null and claimed_at is not null and expires_at is not null))
) with (fillfactor = 50);
-- Each index of live leases also asks that its own key is known, so that no plan can walk one of them in place of another.
create unique index one_live_lease on attempt (subject, slot) where lease_status = 'ACTIVE' and subject is not null;
create unique index one_slot_a_worker on attempt (subject, worker) where shared and lease_status in ('ACTIVE', 'COMPLETED');
create index lease_expiry on attempt (queue, expires_at) where lease_status = 'ACTIVE' and queue is not null;
create index worker_live on attempt (worker, uid) where lease_status = 'ACTIVE' and worker is not null;
create index claim_key on attempt (worker, claim_key) where claim_key is not null;

-- How many leases a worker holds, counted up to a limit. A claim asks once it has locked the worker; volatile, so that it
-- then sees what other claims of that worker took while the lock was waited for, which the claim's own snapshot does not.
create function live_leases(of_worker bigint, after_lease bigint, at_most int) returns int language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
    return (select count(*) from (
        select from tenure.attempt a
        where a.worker = of_worker and a.uid > after_lease and a.lease_status = 'ACTIVE' limit at_most) held);
end
$$;

create table hold (
    uid bigint primary key,
    tenant bigint not null references tenant,
    subject bigint not null references subject,
    queue bigint references queue,
    worker bigint references worker,
    status hold_status not null,
    hold_code text not null,
    reason text not null,
    placed_by text not null,
    placed_at timestamptz not null,
    released_by text,
    released_at timestamptz
);
create index hold_subject on hold (subject);
create index hold_active on hold (tenant, placed_at) where status = 'ACTIVE';

create table dead_letter (
    uid bigint primary key,
    tenant bigint not null references tenant,
    subject bigint not null references subject,
    queue bigint references queue,
    attempt bigint not null references attempt,
    dead_lettered_at timestamptz not null,
    failure_count int not null,
    error_class text not null,
    error_message text,
    resolution_state resolution not null,
    resolved_by text,
    resolved_at timestamptz
);
create index dead_letter_subject on dead_letter (subject);
create unique index one_open_dead_letter on dead_letter (subject) where resolution_state = 'OPEN';
create index dead_letter_open on dead_letter (tenant, dead_lettered_at) where resolution_state = 'OPEN';

-- Edges that no typed column holds: parents of a subject, outputs and supersedings of a record.
create table link (
    parent bigint not null,
    child bigint not null,
    relation text collate "C" not null check (relation ~ '^[a-z][a-z_]*$'),
    tenant bigint not null references tenant,
    created_at timestamptz not null,
    primary key (parent, child, relation)
);
create index link_child on link (child);

-- Requests that changed nothing: refused, in conflict, or answered from before. They are counted and shown, but are no
-- facts, because nothing happened.
create table refusal (
    uid bigint generated always as identity primary key,
    tenant bigint not null,
    at timestamptz not null,
    code text collate "C" not null,
    action text not null,
    actor text not null,
    subject bigint,
    lease bigint,
    worker bigint,
    queue_key text,
    message text not null
);
create index refusal_subject on refusal (subject) where subject is not null;
create index refusal_code on refusal (tenant, code, queue_key);
