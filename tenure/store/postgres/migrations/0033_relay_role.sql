-- The role of a relay: it reads the facts and the signing keys of all tenants, and writes how far their subscriptions have come. It sees
-- no password, no token, nothing that work is given or comes to, and changes nothing that people or workers write. A relay that is
-- to start the runs of event triggers as well does that as tenure_api, behind the wall between tenants, where it may become that
-- (design 05, Roles; docs/decisions/0018).

create table relay_right (relation name primary key, rights text not null);
insert into relay_right (relation, rights) values
    -- What it reads, and how far it has come.
    ('tenant', 'select'),
    ('fact', 'select, insert'),
    ('fact_type', 'select'),
    ('subscription', 'select, update (enabled, seq, head)'),
    ('signing_key', 'select'),
    ('runtime_lease', 'select, insert, update'),
    ('worker_cursor', 'select, update'),
    ('parked_event', 'select, insert, update, delete'),
    ('held_event', 'select, insert, delete'),
    ('delivery', 'select, insert, delete'),
    ('event_dead_letter', 'select, insert'),
    -- The group of a thread, and how long a thread is.
    ('subject', 'select (uid, tenant, correlation_id)'),
    ('execution', 'select (uid, tenant, seq)'),
    ('run', 'select (uid, tenant, correlation_id, seq)'),
    ('remote_submission', 'select (uid, tenant, job_id, seq)'),
    ('queue', 'select (uid, tenant, seq)'),
    ('worker', 'select (uid, tenant, seq)'),
    ('principal', 'select (uid, tenant, seq)'),
    ('schedule', 'select (uid, tenant, seq)'),
    ('management_node', 'select (uid, tenant, seq)'),
    ('workflow', 'select (uid, tenant, seq)'),
    -- What it cleans, once it is kept no longer.
    ('inbox', 'select (tenant, source, message_id, received_at), delete'),
    ('retention', 'select'),
    ('cleared', 'select, insert, update (until, removed)');

-- Gives the role its rights where it is there; may be run again at any time by the owner of the schema.
create function admit_relay() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    each record;
begin
    if not exists (select from pg_roles where rolname = 'tenure_relay') then
        return;
    end if;
    grant usage on schema tenure to tenure_relay;
    grant usage on sequence tenure.uid, tenure.fact_position_seq to tenure_relay;
    for each in select relation, rights from tenure.relay_right loop
        execute format('revoke all on tenure.%I from tenure_relay', each.relation);
        execute format('grant %s on tenure.%I to tenure_relay', each.rights, each.relation);
    end loop;
end
$$;
revoke execute on function admit_relay() from public;

do $role$
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'tenure_relay') then
        begin
            create role tenure_relay nologin;
        exception
            when duplicate_object or unique_violation then null;  -- made for another database at the same moment
            when insufficient_privilege then
                raise notice 'The role tenure_relay could not be made: a relay of another role than the owner says what to run.';
                return;
        end;
    end if;
end
$role$;
select admit_relay();
