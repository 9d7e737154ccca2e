-- Schedules start runs, or put subjects before queues, once for each due time (design 02, API). Each owns a thread.
create table schedule (
    uid bigint primary key,
    tenant bigint not null references tenant,
    name text collate "C" not null check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.:/@+-]*$' and length(name) <= 200),
    spec jsonb not null,
    enabled boolean not null,
    next_at timestamptz,
    last_at timestamptz,
    created_at timestamptz not null,
    retired_at timestamptz,
    seq int not null,
    head bytea not null,
    unique (tenant, name)
) with (fillfactor = 70);
create index schedule_due on schedule (next_at) where next_at is not null;

-- The length of a thread whose owner is not a subject.
create or replace function thread_length(thread bigint) returns int language sql stable
return coalesce(
    (select r.seq from tenure.run r where r.uid = thread),
    (select w.seq from tenure.worker w where w.uid = thread),
    (select q.seq from tenure.queue q where q.uid = thread),
    (select t.seq from tenure.tenant t where t.uid = thread),
    (select p.seq from tenure.principal p where p.uid = thread),
    (select s.seq from tenure.schedule s where s.uid = thread),
    (select w.seq from tenure.workflow w where w.uid = thread), 0);

create trigger kept before delete on schedule for each row execute function refuse_edit();
create trigger kept_truncate before truncate on schedule execute function refuse_edit();
create trigger law_owner_insert after insert on schedule for each row execute function law_owner();
create trigger law_owner_update after update on schedule for each row when (old.* is distinct from new.*) execute function law_owner();
create trigger law_owner_silent before update on schedule for each row
when (new.seq <= old.seq or (old.uid, old.tenant, old.name, old.created_at) is distinct from (new.uid, new.tenant, new.name, new.created_at))
execute function refuse_silent_owner();

insert into api_right (relation, rights) values ('schedule', 'select, insert, update');
select admit_api();

-- The fact types of schedules, as in tenure.model.fact_types; a test compares the two.
insert into fact_type (type, action, domain, stream, lane, severity, classification, version, schema) values
    ('schedule.defined', 'define_schedule', 'flow', 'birth', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"spec": {"type": "object"}}, "required": ["spec"]}'),
    ('schedule.changed', 'change_schedule', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"set": {"type": "object"}, "reason": {"type": "string"}}, "required": []}'),
    ('schedule.fired', 'fire_schedule', 'flow', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"due": {"type": "array", "items": {"type": "string"}}, "started": {"type": "integer"}, "skipped": {"type": "integer"}}, "required": ["due"]}');
