-- Subscriptions: which events leave, where to, and how far each has come (design 05, Out; docs/decisions/0016).

-- What a subscription says is its spec; what the law looks at is taken from it. Each owns a thread.
create table subscription (
    uid bigint primary key,
    tenant bigint not null references tenant,
    name text collate "C" not null check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$' and length(name) <= 100),
    spec jsonb not null,
    actor text not null generated always as (spec ->> 'actor') stored check (actor ~ '^(user|agency|role|agent|service):.'),
    kind text not null generated always as (spec #>> '{destination,kind}') stored check (kind in ('webhook', 'file', 'stdout')),
    lane text not null generated always as (spec ->> 'lane') stored check (lane in ('immediate', 'delayed')),
    on_poison text not null generated always as (spec ->> 'on_poison') stored check (on_poison in ('skip', 'stop')),
    max_attempts int not null generated always as ((spec ->> 'max_attempts')::int) stored check (max_attempts between 1 and 1000),
    enabled boolean not null,
    created_at timestamptz not null,
    retired_at timestamptz check (retired_at is null or not enabled),
    seq int not null,
    head bytea not null,
    unique (uid, tenant)
) with (fillfactor = 70);
create unique index subscription_name on subscription (tenant, name) where retired_at is null;

-- What events are signed with: the newest two that were not dropped. Whoever acts for the API writes keys and never reads one.
create table signing_key (
    subscription bigint not null,
    number int not null check (number > 0),
    tenant bigint not null,
    key text check (length(key) between 16 and 200),
    created_at timestamptz not null,
    dropped_at timestamptz,
    primary key (subscription, number),
    foreign key (subscription, tenant) references subscription (uid, tenant),
    constraint dropped_is_gone check ((key is null) = (dropped_at is not null))
);

-- A lease with a name, for what only one process may do at a time. Each holder has a higher token than the one before.
create table runtime_lease (
    name text collate "C" primary key check (length(name) between 1 and 200),
    tenant bigint not null,
    holder text not null,
    token bigint not null check (token > 0),
    acquired_at timestamptz not null,
    renewed_at timestamptz not null,
    expires_at timestamptz not null
) with (fillfactor = 50);

-- How far a subscription has come: up to the position, everything was delivered, or is kept in parked_event or
-- event_dead_letter. `fence` is the token of the lease under which it was moved last.
create table worker_cursor (
    subscription bigint primary key,
    tenant bigint not null,
    position bigint not null check (position >= 0),
    fence bigint not null default 0,
    delivered bigint not null default 0,
    failed bigint not null default 0,
    failures int not null default 0 check (failures >= 0),
    failing_since timestamptz,
    failing_with text,
    resume_at timestamptz,
    succeeded_at timestamptz,
    moved_at timestamptz not null,
    foreign key (subscription, tenant) references subscription (uid, tenant),
    constraint failing_is_told check ((failures > 0) = (failing_since is not null))
) with (fillfactor = 50);

-- Each attempt to deliver that failed, and when the next was to be.
create table delivery (
    uid bigint generated always as identity primary key,
    tenant bigint not null,
    subscription bigint not null,
    position bigint not null,
    thread bigint not null,
    attempts int not null check (attempts >= 0),
    at timestamptz not null,
    outcome text not null check (outcome in ('refused', 'failed', 'down')),
    code text not null,
    status int,
    next_attempt_at timestamptz
);
create index delivery_of on delivery (subscription, uid);

-- Threads that wait: from the position on, nothing of the thread was delivered up to the cursor. With `alone` it is that one
-- event, which a person sends again.
create table parked_event (
    subscription bigint not null,
    position bigint not null,
    tenant bigint not null,
    thread bigint not null,
    alone boolean not null,
    attempts int not null check (attempts >= 0),
    tries int not null check (tries >= attempts),
    first_failed_at timestamptz,
    failed_at timestamptz,
    next_attempt_at timestamptz not null,
    code text,
    primary key (subscription, position),
    foreign key (subscription, tenant) references subscription (uid, tenant)
);
create unique index parked_thread on parked_event (subscription, thread) where not alone;
create index parked_due on parked_event (subscription, next_attempt_at);

-- Events that one subscription gave up. Nothing sends them again but a person's decision.
create table event_dead_letter (
    uid bigint primary key,
    tenant bigint not null,
    subscription bigint not null,
    position bigint not null,
    thread bigint not null,
    fact_seq int not null,
    type text collate "C" not null,
    status text not null check (status in ('OPEN', 'REDELIVERED', 'IGNORED')),
    code text not null,
    http_status int,
    attempts int not null check (attempts >= 0),
    first_failed_at timestamptz not null,
    opened_at timestamptz not null,
    opened_seq int,
    resolved_at timestamptz,
    resolved_by text,
    reason text,
    resolved_seq int,
    foreign key (subscription, tenant) references subscription (uid, tenant),
    constraint resolved_is_told check (
        (status = 'OPEN') = (resolved_at is null) and (status = 'OPEN') = (resolved_by is null) and (status = 'OPEN') = (resolved_seq is null))
);
create unique index event_dead_letter_open on event_dead_letter (subscription, position) where status = 'OPEN';
create index event_dead_letter_newest on event_dead_letter (subscription, uid);

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
    (select s.seq from tenure.subscription s where s.uid = thread),
    (select w.seq from tenure.workflow w where w.uid = thread), 0);

-- The law. -----------------------------------------------------------------------------------------------------------
create trigger kept before delete on subscription for each row execute function refuse_edit();
create trigger kept_truncate before truncate on subscription execute function refuse_edit();
create trigger law_owner_insert after insert on subscription for each row execute function law_owner();
create trigger law_owner_update after update on subscription for each row when (old.* is distinct from new.*) execute function law_owner();
create trigger law_owner_silent before update on subscription for each row
when (new.seq <= old.seq or (old.uid, old.tenant, old.name, old.created_at) is distinct from (new.uid, new.tenant, new.name, new.created_at)
    or old.retired_at is not null)
execute function refuse_silent_owner();

create trigger kept before delete on signing_key for each row execute function refuse_edit();
create trigger kept_truncate before truncate on signing_key execute function refuse_edit();
create function refuse_key_change() returns trigger language plpgsql as $$
begin
    raise exception 'Signing key % of subscription % can only be dropped, once', old.number, tenure.euid('BX', old.subscription)
        using errcode = 'TN001', hint = 'Rotate: a new key is a new row.';
end
$$;
create trigger law_key_kept before update on signing_key for each row
when ((old.subscription, old.number, old.tenant, old.created_at) is distinct from (new.subscription, new.number, new.tenant, new.created_at)
    or old.dropped_at is not null or new.dropped_at is null)
execute function refuse_key_change();

-- Nobody takes a lease that lives, and nobody renews one that ran out: it is acquired anew, with the next token.
create function law_runtime_lease() returns trigger language plpgsql as $$
begin
    if new.name <> old.name or new.tenant <> old.tenant or new.token not in (old.token, old.token + 1)
        or (new.token = old.token and (new.holder <> old.holder or new.acquired_at <> old.acquired_at))
        or (new.token = old.token) <> (old.expires_at > tenure.now()) then
        raise exception 'Lease % is held by %, or is not held any more', old.name, old.holder
            using errcode = 'TN002', hint = 'A lease is renewed by its holder while it lives, and taken over once it has run out.';
    end if;
    return new;
end
$$;
create trigger law before update on runtime_lease for each row execute function law_runtime_lease();
create trigger kept before delete on runtime_lease for each row execute function refuse_edit();
create trigger kept_truncate before truncate on runtime_lease execute function refuse_edit();

-- A cursor only goes on, and only under the lease of its subscription: a leader that was replaced moves nothing.
create function law_cursor() returns trigger language plpgsql as $$
begin
    if new.position < old.position or new.tenant <> old.tenant or new.subscription <> old.subscription
        or new.fence is distinct from (select l.token from tenure.runtime_lease l where l.name = 'relay/' || new.subscription) then
        raise exception 'The cursor of subscription % goes back, or is moved without its lease', tenure.euid('BX', old.subscription)
            using errcode = 'TN002', hint = 'It is moved by whoever holds the lease relay/<uid>, with its token.';
    end if;
    return null;
end
$$;
create trigger law after update on worker_cursor for each row execute function law_cursor();
create trigger kept before delete on worker_cursor for each row execute function refuse_edit();
create trigger kept_truncate before truncate on worker_cursor execute function refuse_edit();

create trigger written_once before update or delete on delivery for each row execute function refuse_edit();
create trigger written_once_truncate before truncate on delivery execute function refuse_edit();

-- A dead letter is told in the thread of its subscription, when it is opened and when it is resolved. One of an event that
-- is itself about a subscription is not told: else two subscriptions could dead-letter each other's for ever.
create function law_event_dead_letter() returns trigger language plpgsql as $$
declare
    told_at int := case when tg_op = 'INSERT' then new.opened_seq else new.resolved_seq end;
    told_as text := case when tg_op = 'INSERT' then 'subscription.dead_lettered' else 'subscription.dead_letter_resolved' end;
begin
    if tg_op = 'INSERT' and new.type like 'subscription.%' and new.status = 'OPEN' then
        return null;
    end if;
    if (tg_op = 'INSERT' and new.status <> 'OPEN') or not exists (
        select from tenure.fact f
        where f.thread = new.subscription and f.seq = told_at and f.type = told_as and (f.data ->> 'dead_letter')::bigint = new.uid) then
        raise exception 'Silent change of dead letter %: no fact tells of it', tenure.euid('EX', new.uid)
            using errcode = 'TN003', hint = 'Append the fact to the thread of its subscription, in the same statement.';
    end if;
    return null;
end
$$;
create trigger law_insert after insert on event_dead_letter for each row execute function law_event_dead_letter();
create trigger law_update after update on event_dead_letter for each row execute function law_event_dead_letter();
create function refuse_resolved() returns trigger language plpgsql as $$
begin
    raise exception 'Dead letter % is resolved once, and never changes', tenure.euid('EX', old.uid)
        using errcode = 'TN001', hint = 'An event that fails again is a new dead letter.';
end
$$;
create trigger law_once before update on event_dead_letter for each row
when (old.status <> 'OPEN' or new.status = 'OPEN'
    or (old.uid, old.tenant, old.subscription, old.position, old.thread, old.fact_seq, old.type, old.code, old.http_status, old.attempts,
        old.first_failed_at, old.opened_at, old.opened_seq)
    is distinct from
    (new.uid, new.tenant, new.subscription, new.position, new.thread, new.fact_seq, new.type, new.code, new.http_status, new.attempts,
        new.first_failed_at, new.opened_at, new.opened_seq))
execute function refuse_resolved();
create trigger kept before delete on event_dead_letter for each row execute function refuse_edit();
create trigger kept_truncate before truncate on event_dead_letter execute function refuse_edit();

-- Reading. -----------------------------------------------------------------------------------------------------------

-- The fact types that a subscription wants, by its filter; all criteria that it names must fit.
create function wanted_types(spec jsonb) returns text[] language sql stable
return (
    select coalesce(array_agg(t.type), '{}')
    from tenure.fact_type t, lateral (
        select coalesce(spec #> '{filter,domains}', '[]') as domains, coalesce(spec #> '{filter,streams}', '[]') as streams,
            coalesce(spec #> '{filter,severities}', '[]') as severities, coalesce(spec #> '{filter,types}', '[]') as types) f
    where (f.domains = '[]' or f.domains ? t.domain) and (f.streams = '[]' or f.streams ? t.stream)
        and (f.severities = '[]' or f.severities ? t.severity)
        and (f.types = '[]' or f.types ?| array['*', t.type, split_part(t.type, '.', 1) || '.*']));

create function wanted_queues(spec jsonb) returns text[] language sql immutable
return (select array_agg(q) from jsonb_array_elements_text(spec #> '{filter,queues}') q);

-- Whether a fact is an event of a subscription. Those of its own thread are not, but for the one that tests it.
create function wanted(of_subscription bigint, types text[], queues text[], thread bigint, type text, queue_key text)
returns boolean language sql immutable
return case when thread = of_subscription then type = 'subscription.tested'
    else type = any (types) and (queues is null or queue_key = any (queues)) end;

-- The rights of the API, and of whoever looks from outside. --------------------------------------------------------------
insert into api_right (relation, rights) values
    ('subscription', 'select, insert, update (spec, enabled, retired_at, seq, head)'),
    ('signing_key', 'select (subscription, number, tenant, created_at, dropped_at), insert, update (key, dropped_at)'),
    ('runtime_lease', 'select'),
    ('worker_cursor', 'select, insert'),
    ('delivery', 'select'),
    ('parked_event', 'select, insert'),
    ('event_dead_letter', 'select, update (status, resolved_at, resolved_by, reason, resolved_seq)');
select admit_api();

-- The fact types of subscriptions, as in tenure.model.fact_types; a test compares the two.
insert into fact_type (type, action, domain, stream, lane, severity, classification, version, schema, safe_fields) values
    ('subscription.defined', 'define_subscription', 'system', 'birth', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"name": {"type": "string"}, "spec": {"type": "object"}, "position": {"type": "integer"}}, "required": ["name", "spec"]}', '{name}'),
    ('subscription.changed', 'change_subscription', 'system', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"set": {"type": "object"}, "reason": {"type": "string"}}, "required": ["set"]}', '{}'),
    ('subscription.removed', 'remove_subscription', 'system', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"reason": {"type": "string"}}, "required": []}', '{}'),
    ('subscription.key_rotated', 'rotate_signing_key', 'system', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"number": {"type": "integer"}, "kept": {"type": "array", "items": {"type": "integer"}}}, "required": ["number", "kept"]}', '{number}'),
    ('subscription.tested', 'test_subscription', 'system', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}', '{}'),
    ('subscription.stopped', 'deliver_event', 'system', 'alert', 'immediate', 'critical', 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"dead_letter": {"type": "integer"}, "code": {"type": "string"}}, "required": ["dead_letter", "code"]}', '{code}'),
    ('subscription.dead_lettered', 'deliver_event', 'system', 'alert', 'immediate', 'warning', 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"dead_letter": {"type": "integer"}, "position": {"type": "integer"}, "code": {"type": "string"}, "attempts": {"type": "integer"}}, "required": ["dead_letter", "position", "code", "attempts"]}', '{code, attempts}'),
    ('subscription.dead_letter_resolved', 'resolve_event_dead_letter', 'system', 'review', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"dead_letter": {"type": "integer"}, "resolution": {"type": "string"}, "reason": {"type": "string"}}, "required": ["dead_letter", "resolution"]}', '{resolution}');
