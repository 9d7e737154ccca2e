-- Remote submissions (S5, design 04, docs/decisions/0013): management nodes, what was submitted to them, and its executions.

-- The role of a node's principal.
alter table principal drop constraint principal_roles_check;
alter table principal add constraint principal_roles_check
    check (roles <@ array['worker_service', 'worker_human', 'operator', 'admin', 'observer', 'management_node']);
alter table access_token drop constraint access_token_roles_check;
alter table access_token add constraint access_token_roles_check
    check (roles <@ array['worker_service', 'worker_human', 'operator', 'admin', 'observer', 'management_node']);

-- A management node: the definition, owner of a thread (node.defined, node.changed), and what its last poll said.
create table management_node (
    uid bigint primary key,
    tenant bigint not null references tenant,
    name text collate "C" not null check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$' and length(name) <= 100),
    spec jsonb not null,
    worker bigint not null,
    principal bigint not null,
    created_at timestamptz not null,
    agent_id text,
    former_agents text[] not null default '{}',
    incarnation int not null default 0,
    polled_at timestamptz,
    draining boolean not null default false,
    holding int not null default 0,
    scheduler text,
    scheduler_problem text,
    problem_since timestamptz,
    seq int not null,
    head bytea not null,
    unique (tenant, name),
    unique (tenant, principal)
) with (fillfactor = 50);

-- A submission: the command as it came, and what the product was told last. Owner of the thread of what crossed the border.
create table remote_submission (
    uid bigint primary key,
    tenant bigint not null,
    subject bigint not null unique,
    node bigint not null references management_node,
    workspace_id text collate "C" not null,
    job_id text collate "C" not null,
    idempotency_key text collate "C" not null,
    command jsonb not null,
    command_hash bytea not null check (octet_length(command_hash) = 32),
    placement jsonb not null,
    trace_id text not null,
    accepted_at timestamptz not null,
    projection_state text collate "C" not null,
    projection_round int not null check (projection_round > 0),
    source_execution_state text collate "C",
    projected_at timestamptz not null,
    display_message text,
    result_ref jsonb,
    failure jsonb,
    seq int not null,
    head bytea not null
) with (fillfactor = 70);
create unique index remote_submission_key on remote_submission (tenant, workspace_id, idempotency_key);
create index remote_submission_recent on remote_submission (tenant, uid desc);
create index remote_submission_job on remote_submission (tenant, job_id, uid desc);
create index remote_submission_node on remote_submission (node, uid desc);

-- An execution: one attempt that the node was given. `open`: the node may still have to be told of it.
create table remote_execution (
    submission bigint not null references remote_submission,
    number int not null check (number > 0),
    tenant bigint not null,
    node bigint not null references management_node,
    execution_id text collate "C" not null,
    attempt bigint not null,
    state text collate "C",
    slurm_job_id text,
    partition text,
    qos text,
    wanted boolean not null,
    open boolean not null,
    handed_out_at timestamptz not null,
    accepted_at timestamptz,
    running_at timestamptz,
    ended_at timestamptz,
    status_detail text,
    primary key (submission, number)
) with (fillfactor = 50);
create unique index remote_execution_id on remote_execution (submission, execution_id);
create index remote_execution_open on remote_execution (node) where open and (state is null or not wanted);

-- The length of a thread whose owner is not a subject.
create or replace function thread_length(thread bigint) returns int language sql stable
return coalesce(
    (select r.seq from tenure.run r where r.uid = thread),
    (select r.seq from tenure.remote_submission r where r.uid = thread),
    (select w.seq from tenure.worker w where w.uid = thread),
    (select q.seq from tenure.queue q where q.uid = thread),
    (select t.seq from tenure.tenant t where t.uid = thread),
    (select p.seq from tenure.principal p where p.uid = thread),
    (select s.seq from tenure.schedule s where s.uid = thread),
    (select n.seq from tenure.management_node n where n.uid = thread),
    (select w.seq from tenure.workflow w where w.uid = thread), 0);

create trigger kept before delete on management_node for each row execute function refuse_edit();
create trigger kept_truncate before truncate on management_node execute function refuse_edit();
create trigger kept before delete on remote_submission for each row execute function refuse_edit();
create trigger kept_truncate before truncate on remote_submission execute function refuse_edit();
create trigger kept before delete on remote_execution for each row execute function refuse_edit();
create trigger kept_truncate before truncate on remote_execution execute function refuse_edit();

create trigger law_owner_insert after insert on management_node for each row execute function law_owner();
create trigger law_owner_update after update on management_node for each row
when (old.seq <> new.seq or old.head <> new.head) execute function law_owner();
create trigger law_owner_silent before update on management_node for each row
when (new.seq < old.seq
    or (old.uid, old.tenant, old.name, old.worker, old.created_at) is distinct from (new.uid, new.tenant, new.name, new.worker, new.created_at)
    or (new.seq = old.seq and (old.spec, old.principal, old.head) is distinct from (new.spec, new.principal, new.head)))
execute function refuse_silent_owner();

create trigger law_owner_insert after insert on remote_submission for each row execute function law_owner();
create trigger law_owner_update after update on remote_submission for each row
when (old.seq <> new.seq or old.head <> new.head) execute function law_owner();

-- What the product was told never goes back within a round, and a round only follows one that had ended (S5; decision 13).
create function projection_stage(state text, source text) returns int language sql immutable parallel safe
return case when state in ('succeeded', 'failed') then 3 when state = 'running' then 2 when source = 'accepted' then 1 else 0 end;
create function refuse_submission_change() returns trigger language plpgsql as $$
begin
    if new.seq <= old.seq then
        raise exception 'Silent change of submission %: no fact tells of it', tenure.euid('JX', old.uid)
            using errcode = 'TN003', hint = 'Append the fact that tells of the change, in the same statement.';
    end if;
    raise exception 'Illegal change of submission %: % (round %) to % (round %)', tenure.euid('JX', old.uid),
        old.projection_state, old.projection_round, new.projection_state, new.projection_round
        using errcode = 'TN002', hint = 'A projection only goes on; what was submitted never changes.';
end
$$;
create trigger law_submission before update on remote_submission for each row
when (new.seq < old.seq
    or (old.uid, old.tenant, old.subject, old.node, old.workspace_id, old.job_id, old.idempotency_key, old.command, old.command_hash, old.placement, old.trace_id, old.accepted_at)
    is distinct from
    (new.uid, new.tenant, new.subject, new.node, new.workspace_id, new.job_id, new.idempotency_key, new.command, new.command_hash, new.placement, new.trace_id, new.accepted_at)
    or (new.seq = old.seq and (old.projection_state, old.projection_round, old.source_execution_state, old.display_message, old.result_ref, old.failure, old.projected_at, old.head)
        is distinct from
        (new.projection_state, new.projection_round, new.source_execution_state, new.display_message, new.result_ref, new.failure, new.projected_at, new.head))
    or new.projection_round < old.projection_round
    or (new.projection_round = old.projection_round and (
        tenure.projection_stage(new.projection_state, new.source_execution_state) < tenure.projection_stage(old.projection_state, old.source_execution_state)
        or (old.projection_state in ('succeeded', 'failed') and new.projection_state <> old.projection_state)))
    or (new.projection_round > old.projection_round and old.projection_state not in ('succeeded', 'failed') and new.projection_round <> old.projection_round + 1))
execute function refuse_submission_change();

-- An execution only goes on, keeps its Slurm job id, and is where an event of its submission's thread says (S5).
create function law_execution() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' and (
        (old.submission, old.number, old.tenant) is distinct from (new.submission, new.number, new.tenant)
        or (old.state is not null and (old.execution_id, old.node) is distinct from (new.execution_id, new.node))
        or (old.slurm_job_id is not null and new.slurm_job_id is distinct from old.slurm_job_id)
        or (old.state is distinct from new.state and old.state in ('completed', 'failed'))
        or (new.wanted and not old.wanted)) then
        raise exception 'Illegal change of execution % of submission %', old.number, tenure.euid('JX', old.submission)
            using errcode = 'TN002', hint = 'An execution only goes on; a further one has a number of its own.';
    end if;
    if new.state is not null and (tg_op = 'INSERT' or old.state is distinct from new.state) and not exists (
        select from tenure.fact f
        where f.thread = new.submission and f.type = 'execution_event.received' and (f.data ->> 'number')::int = new.number
            and f.data ->> 'state' = new.state) then
        raise exception 'Silent change of execution % of submission %', new.number, tenure.euid('JX', new.submission)
            using errcode = 'TN003', hint = 'Append the fact that tells of the event, in the same statement.';
    end if;
    return null;
end
$$;
create trigger law_execution_insert after insert on remote_execution for each row execute function law_execution();
create trigger law_execution_update after update on remote_execution for each row when (old.* is distinct from new.*) execute function law_execution();

insert into api_right (relation, rights) values
    ('management_node', 'select, insert, update'),
    ('remote_submission', 'select, insert, update'),
    ('remote_execution', 'select, insert, update');
select admit_api();

-- The fact types of remote submissions, as in tenure.model.fact_types; a test compares the two.
insert into fact_type (type, action, domain, stream, lane, severity, classification, version, safe_fields, event_id_key, schema) values
    ('node.defined', 'define_node', 'remote', 'birth', 'immediate', null, 'safe_metadata', 1, '{worker}', null, '{"type": ["object", "null"], "properties": {"name": {"type": "string"}, "spec": {"type": "object"}}, "required": ["name", "spec"]}'),
    ('node.changed', 'define_node', 'remote', 'update', 'immediate', null, 'safe_metadata', 1, '{}', null, '{"type": ["object", "null"], "properties": {"set": {"type": "object"}}, "required": []}'),
    ('submission.accepted', 'submit_job', 'remote', 'birth', 'immediate', null, 'safe_metadata', 1, '{node}', null, '{"type": ["object", "null"], "properties": {"job_id": {"type": "string"}, "workspace_id": {"type": "string"}, "node": {"type": "string"}, "subject": {"type": "integer"}}, "required": ["job_id", "workspace_id", "node"]}'),
    ('execution_event.received', 'receive_execution_event', 'remote', 'update', 'immediate', null, 'safe_metadata', 1, '{event_id, execution_id, number, applied}', null, '{"type": ["object", "null"], "properties": {"event_id": {"type": "string"}, "execution_id": {"type": "string"}, "number": {"type": "integer"}, "state": {"type": "string"}, "occurred_at": {"type": "string"}, "applied": {}}, "required": ["event_id", "execution_id", "number", "state", "occurred_at"]}'),
    ('projection.updated', 'update_projection', 'remote', 'update', 'immediate', null, 'safe_metadata', 1, '{state, revision, queue_key, lease, worker}', 'projection_event_id', '{"type": ["object", "null"], "properties": {"projection_event_id": {"type": "string"}, "projection_state": {"type": "string"}, "projection_round": {"type": "integer"}, "occurred_at": {"type": "string"}}, "required": ["projection_event_id", "projection_state", "projection_round", "occurred_at"]}');
update fact_type set schema = '{"type": ["object", "null"], "properties": {"deadline": {"type": "string"}}, "required": []}' where type = 'execution.started';
