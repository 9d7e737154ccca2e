-- What is no fact is kept for a time: ids of messages, by which those that come again are known, and attempts to deliver that failed
-- (design 05, Growth; docs/decisions/0018). Nobody removes what is younger, whoever asks.

create table retention (
    tenant bigint not null references tenant,
    kind text collate "C" not null check (kind in ('inbox', 'delivery')),
    days int not null check (days between case kind when 'inbox' then 7 else 1 end and 3650),
    set_seq int not null,
    primary key (tenant, kind)
);

-- How far it was cleaned: what is older than `until`, or as old, may be gone.
create table cleared (
    tenant bigint not null references tenant,
    kind text collate "C" not null check (kind in ('inbox', 'delivery')),
    until timestamptz not null,
    removed bigint not null check (removed > 0),
    primary key (tenant, kind)
) with (fillfactor = 50);

create function retention_default(kind text) returns int language sql immutable parallel safe
return case kind when 'inbox' then 90 else 30 end;

-- The age from which on a kind is not kept any more.
create function kept_since(of_tenant bigint, of_kind text) returns timestamptz language sql stable
return tenure.now() - make_interval(days => coalesce(
    (select r.days from tenure.retention r where r.tenant = of_tenant and r.kind = of_kind), tenure.retention_default(of_kind)));

create index inbox_kept on inbox (tenant, received_at);
drop index inbox_age;
create index delivery_kept on delivery (tenant, at);

-- The law. -----------------------------------------------------------------------------------------------------------
create function law_kept() returns trigger language plpgsql as $$
declare
    age timestamptz := case tg_table_name when 'inbox' then (to_jsonb(old) ->> 'received_at')::timestamptz else (to_jsonb(old) ->> 'at')::timestamptz end;
begin
    if age >= tenure.kept_since(old.tenant, tg_table_name) and current_user <> 'tenure_retention' then
        raise exception '% on tenure.% is refused: what is younger than its retention is kept', tg_op, tg_table_name
            using errcode = 'TN001', hint = 'tenure retention list says how long it is kept.';
    end if;
    return old;
end
$$;
drop trigger written_once on inbox;
create trigger written_once before update on inbox for each row execute function refuse_edit();
create trigger law_kept before delete on inbox for each row execute function law_kept();
drop trigger written_once on delivery;
create trigger written_once before update on delivery for each row execute function refuse_edit();
create trigger law_kept before delete on delivery for each row execute function law_kept();

create trigger kept before delete on retention for each row execute function refuse_edit();
create trigger kept_truncate before truncate on retention execute function refuse_edit();
create function law_retention() returns trigger language plpgsql as $$
begin
    if not exists (
        select from tenure.fact f
        where f.thread = new.tenant and f.seq = new.set_seq and f.type = 'tenant.retention_set'
            and f.data ->> 'kind' = new.kind and (f.data ->> 'days')::int = new.days) then
        raise exception 'Silent change of how long % is kept: no fact tells of it', new.kind
            using errcode = 'TN003', hint = 'Append the fact to the thread of the tenant, in the same statement.';
    end if;
    return null;
end
$$;
create trigger law after insert or update on retention for each row execute function law_retention();
create trigger law_once before update on retention for each row
when (new.set_seq <= old.set_seq or (old.tenant, old.kind) is distinct from (new.tenant, new.kind))
execute function refuse_edit();

create trigger kept before delete on cleared for each row execute function refuse_edit();
create trigger kept_truncate before truncate on cleared execute function refuse_edit();
create trigger law_once before update on cleared for each row
when (new.until < old.until or new.removed < old.removed or (old.tenant, old.kind) is distinct from (new.tenant, new.kind))
execute function refuse_edit();
create function law_cleared() returns trigger language plpgsql as $$
begin
    if new.until >= tenure.kept_since(new.tenant, new.kind) then
        raise exception '% is kept beyond %', new.kind, new.until using errcode = 'TN002', hint = 'Only what is older is cleaned.';
    end if;
    return null;
end
$$;
create trigger law after insert or update on cleared for each row execute function law_cleared();

update api_right set rights = 'select, insert, delete' where relation = 'inbox';
update api_right set rights = 'select, delete' where relation = 'delivery';
insert into api_right (relation, rights) values
    ('retention', 'select, insert, update (days, set_seq)'),
    ('cleared', 'select, insert, update (until, removed)');
select admit_api();

insert into fact_type (type, action, domain, stream, lane, severity, classification, version, schema, safe_fields) values
    ('tenant.retention_set', 'set_retention', 'governance', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"kind": {"type": "string"}, "days": {"type": "integer"}, "reason": {"type": "string"}}, "required": ["kind", "days"]}', '{kind, days}');
