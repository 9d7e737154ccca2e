-- Who acts: principals and their access tokens. And the second wall: what a server shows of its tenants is decided by
-- row-level security too, not by its statements alone (design 05, Roles; design 06, HTTP API; S1 10.4).

create type principal_status as enum ('ACTIVE', 'DISABLED');
create type access_token_kind as enum ('API', 'SESSION');

-- Owner of a thread, which tells of its roles, its passwords and its tokens. `name` is the actor of facts.
create table principal (
    uid bigint primary key,
    tenant bigint not null references tenant,
    name text collate "C" not null check (name ~ '^(user|service|agent):[A-Za-z0-9][A-Za-z0-9_.@+-]*$' and length(name) <= 200),
    display_name text not null,
    roles text[] not null check (roles <@ array['worker_service', 'worker_human', 'operator', 'admin', 'observer']),
    status principal_status not null,
    oidc_issuer text collate "C",
    oidc_subject text collate "C",
    password_hash text collate "C" check (password_hash like '$argon2id$%'),
    has_password boolean not null generated always as (password_hash is not null) stored,
    revision int not null check (revision > 0),
    created_at timestamptz not null,
    seq int not null,
    head bytea not null,
    unique (tenant, name),
    constraint both_of_oidc check ((oidc_issuer is null) = (oidc_subject is null))
) with (fillfactor = 70);
create unique index principal_oidc on principal (tenant, oidc_issuer, oidc_subject) where oidc_issuer is not null;

-- Only the SHA-256 of a token is kept. Its facts stand in its principal's thread: created_seq and revoked_seq say where.
create table access_token (
    uid bigint primary key,
    tenant bigint not null references tenant,
    principal bigint not null references principal,
    digest bytea not null unique check (octet_length(digest) = 32),
    kind access_token_kind not null,
    label text not null,
    roles text[] check (roles <@ array['worker_service', 'worker_human', 'operator', 'admin', 'observer']),
    created_at timestamptz not null,
    expires_at timestamptz not null check (expires_at > created_at),
    created_seq int not null,
    revoked_at timestamptz,
    revoked_seq int,
    last_used_at timestamptz,
    constraint revoked_is_told check ((revoked_at is null) = (revoked_seq is null))
) with (fillfactor = 70);
create index access_token_newest on access_token (tenant, uid);
create index access_token_of on access_token (principal, uid);

-- The principal that registered a worker through the API; none where a process did it that is trusted with the database.
alter table worker add column owner bigint references principal;

insert into fact_type (type, action, domain, stream, lane, severity, classification, version, schema) values
    ('principal.created', 'create_principal', 'governance', 'birth', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"name": {"type": "string"}, "roles": {"type": "array", "items": {"type": "string"}}, "reason": {"type": "string"}}, "required": ["name", "roles"]}'),
    ('principal.changed', 'change_principal', 'governance', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"set": {"type": "object"}, "fields": {"type": "array", "items": {"type": "string"}}, "reason": {"type": "string"}}, "required": ["set", "fields"]}'),
    ('principal.password_set', 'set_password', 'governance', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {}, "required": []}'),
    ('access_token.created', 'create_token', 'governance', 'birth', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"access_token": {"type": "integer"}, "kind": {"type": "string"}, "label": {"type": "string"}, "roles": {"type": "array", "items": {"type": "string"}}, "expires_at": {"type": "string"}}, "required": ["access_token", "kind", "expires_at"]}'),
    ('access_token.revoked', 'revoke_token', 'governance', 'update', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"access_token": {"type": "integer"}, "reason": {"type": "string"}}, "required": ["access_token"]}');

-- The law for them. ------------------------------------------------------------------------------------------------
create or replace function thread_length(thread bigint) returns int language sql stable
return coalesce(
    (select w.seq from tenure.worker w where w.uid = thread),
    (select q.seq from tenure.queue q where q.uid = thread),
    (select t.seq from tenure.tenant t where t.uid = thread),
    (select p.seq from tenure.principal p where p.uid = thread), 0);

create trigger kept before delete on principal for each row execute function refuse_edit();
create trigger kept_truncate before truncate on principal execute function refuse_edit();
create trigger kept before delete on access_token for each row execute function refuse_edit();
create trigger kept_truncate before truncate on access_token execute function refuse_edit();

create trigger law_owner_insert after insert on principal for each row execute function law_owner();
create trigger law_owner_update after update on principal for each row when (old.* is distinct from new.*) execute function law_owner();
create trigger law_owner_silent before update on principal for each row
when (new.seq <= old.seq or old.uid <> new.uid or old.tenant <> new.tenant or old.name <> new.name or old.created_at <> new.created_at)
execute function refuse_silent_owner();

-- Whose worker it is never changes.
create trigger law_owner_kept before update on worker for each row
when (old.owner is distinct from new.owner) execute function refuse_silent_owner();

create function law_access_token() returns trigger language plpgsql as $$
declare
    told_at int := case when tg_op = 'INSERT' then new.created_seq else new.revoked_seq end;
    told_as text := case when tg_op = 'INSERT' then 'access_token.created' else 'access_token.revoked' end;
begin
    if not exists (
        select from tenure.fact f
        where f.thread = new.principal and f.seq = told_at and f.type = told_as and (f.data ->> 'access_token')::bigint = new.uid) then
        raise exception 'Silent change of access token %: no fact tells of it', tenure.euid('KX', new.uid)
            using errcode = 'TN003', hint = 'Append the fact to the thread of its principal, in the same statement.';
    end if;
    return null;
end
$$;
create trigger law_access_token_insert after insert on access_token for each row execute function law_access_token();
create trigger law_access_token_update after update on access_token for each row
when (old.revoked_seq is distinct from new.revoked_seq) execute function law_access_token();

create function refuse_token_change() returns trigger language plpgsql as $$
begin
    raise exception 'Access token % can only be revoked, once', tenure.euid('KX', old.uid)
        using errcode = 'TN001', hint = 'Create another one.';
end
$$;
create trigger law_access_token_kept before update on access_token for each row
when (
    (old.uid, old.tenant, old.principal, old.digest, old.kind, old.label, old.created_at, old.expires_at, old.created_seq)
    is distinct from
    (new.uid, new.tenant, new.principal, new.digest, new.kind, new.label, new.created_at, new.expires_at, new.created_seq)
    or old.roles is distinct from new.roles
    or (old.revoked_at is not null and (old.revoked_at, old.revoked_seq) is distinct from (new.revoked_at, new.revoked_seq))
    or new.last_used_at < old.last_used_at)
execute function refuse_token_change();

-- Before it is known who asks. ---------------------------------------------------------------------------------------
-- These three run as the owner of the schema, because a server's own role sees nothing until a tenant is set. Each answers
-- for one key that only its holder knows, or is bounded by the caller's rate limit; none lists anything.

-- Whom a token proves, where it proves anybody: unknown, revoked, expired and disabled are all the same, nothing.
create function authenticate(of_digest bytea) returns table (
    uid bigint, tenant bigint, tenant_key text, name text, display_name text, roles text[], status text, oidc_issuer text,
    oidc_subject text, has_password boolean, revision int, seq int, created_at timestamptz,
    token bigint, kind text, label text, token_roles text[], token_created_at timestamptz, expires_at timestamptz,
    last_used_at timestamptz)
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
    with found as materialized (
        select p.*, n.key as tenant_key, t.uid as token, t.kind, t.label, t.roles as token_roles,
            t.created_at as token_created_at, t.expires_at, t.last_used_at
        from tenure.access_token t
        join tenure.principal p on p.uid = t.principal
        join tenure.tenant n on n.uid = p.tenant
        where t.digest = of_digest and t.revoked_at is null and t.expires_at > tenure.now() and p.status = 'ACTIVE'),
    noted as (
        update tenure.access_token t set last_used_at = tenure.now()
        from found f
        where t.uid = f.token and (t.last_used_at is null or t.last_used_at <= tenure.now() - interval '1 minute'))
    select f.uid, f.tenant, f.tenant_key, f.name, f.display_name, f.roles, f.status::text, f.oidc_issuer, f.oidc_subject,
        f.has_password, f.revision, f.seq, f.created_at, f.token, f.kind::text, f.label, f.token_roles, f.token_created_at,
        f.expires_at, f.last_used_at
    from found f;
end;

-- The principal behind a name that is signing in, with the hash of its password.
create function signing_in(of_tenant text, of_name text) returns table (
    uid bigint, tenant bigint, tenant_key text, name text, display_name text, roles text[], status text, oidc_issuer text,
    oidc_subject text, has_password boolean, revision int, seq int, created_at timestamptz, password_hash text)
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select p.uid, p.tenant, n.key, p.name, p.display_name, p.roles, p.status::text, p.oidc_issuer, p.oidc_subject,
        p.has_password, p.revision, p.seq, p.created_at, p.password_hash
    from tenure.tenant n join tenure.principal p on p.tenant = n.uid
    where n.key = of_tenant and p.name = of_name and p.status = 'ACTIVE';
end;

-- The principal behind what an OpenID Connect provider says. Without one, still the tenant, in which one may be made.
create function signed_in_elsewhere(of_tenant text, of_issuer text, of_subject text) returns table (
    uid bigint, tenant bigint, tenant_key text, name text, display_name text, roles text[], status text, oidc_issuer text,
    oidc_subject text, has_password boolean, revision int, seq int, created_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select p.uid, n.uid, n.key, p.name, p.display_name, p.roles, p.status::text, p.oidc_issuer, p.oidc_subject,
        p.has_password, p.revision, p.seq, p.created_at
    from tenure.tenant n
    left join tenure.principal p on p.tenant = n.uid and p.oidc_issuer = of_issuer and p.oidc_subject = of_subject
    where n.key = of_tenant;
end;

revoke execute on function authenticate(bytea), signing_in(text, text), signed_in_elsewhere(text, text, text) from public;

-- The second wall. ---------------------------------------------------------------------------------------------------
-- A server's connections act as tenure_api, which sees the rows of one tenant: that of the session setting tenure.tenant.
-- The owner's own connections, which the SDK uses, are above it and pay nothing.

create function current_tenant() returns bigint language sql stable parallel safe
return nullif(current_setting('tenure.tenant', true), '')::bigint;

-- What tenure_api may do with each relation. Neither may it delete, nor read what proves a password or a token.
create table api_right (relation name primary key, rights text not null);
insert into api_right (relation, rights) values
    ('tenant', 'select, update (seq, head)'),
    ('template', 'select, insert'),
    ('queue', 'select, insert, update'),
    ('worker', 'select, insert, update'),
    ('subject', 'select, insert'),
    ('execution', 'select, insert, update'),
    ('attempt', 'select, insert, update'),
    ('hold', 'select, insert, update'),
    ('dead_letter', 'select, insert, update'),
    ('link', 'select, insert'),
    ('refusal', 'select, insert'),
    ('fact', 'select, insert'),
    ('fact_type', 'select'),
    ('migration', 'select'),
    ('principal', 'select (uid, tenant, name, display_name, roles, status, oidc_issuer, oidc_subject, has_password, revision, created_at, seq, head), insert, update (display_name, roles, status, oidc_issuer, oidc_subject, password_hash, revision, seq, head)'),
    ('access_token', 'select (uid, tenant, principal, kind, label, roles, created_at, expires_at, created_seq, revoked_at, revoked_seq, last_used_at), insert, update (revoked_at, revoked_seq)'),
    ('queue_lease', 'select'),
    ('execution_record', 'select'),
    ('action_instance', 'select'),
    ('lineage', 'select'),
    ('visible', 'select');

-- A view shows what its reader may see, not what its owner may.
alter view queue_lease set (security_invoker = true);
alter view execution_record set (security_invoker = true);
alter view action_instance set (security_invoker = true);
alter view lineage set (security_invoker = true);
alter view visible set (security_invoker = true);

-- Puts the wall up where the role is there; may be run again at any time by the owner of the schema. Every table with a
-- tenant is behind it. `is true` keeps the tenant from becoming the first key of an index that a statement did not ask for,
-- and the sub-select makes it one look at the setting for each statement. Other roles that were granted something see it all, as before.
create function admit_api() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    each record;
begin
    if not exists (select from pg_roles where rolname = 'tenure_api') then
        return;
    end if;
    grant usage on schema tenure to tenure_api;
    grant usage on sequence tenure.uid, tenure.fact_position_seq to tenure_api;
    grant execute on function tenure.authenticate(bytea), tenure.signing_in(text, text),
        tenure.signed_in_elsewhere(text, text, text) to tenure_api;
    for each in select relation, rights from tenure.api_right loop
        execute format('revoke all on tenure.%I from tenure_api', each.relation);
        execute format('grant %s on tenure.%I to tenure_api', each.rights, each.relation);
    end loop;
    for each in
        select c.relname as relation, a.attname as key
        from pg_class c join pg_attribute a on a.attrelid = c.oid
        where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
            and a.attname = case when c.relname = 'tenant' then 'uid' else 'tenant' end
    loop
        execute format('alter table tenure.%I enable row level security', each.relation);
        execute format('drop policy if exists others on tenure.%I', each.relation);
        execute format('create policy others on tenure.%I to public using (true) with check (true)', each.relation);
        execute format('drop policy if exists own_tenant on tenure.%I', each.relation);
        execute format('create policy own_tenant on tenure.%I as restrictive to tenure_api using ((%I = (select tenure.current_tenant())) is true)',
            each.relation, each.key);
    end loop;
end
$$;
revoke execute on function admit_api() from public;

-- The role is the server's, not this database's: another database may have made it. Where this one may not, a server says
-- so when it starts, and what to run; everything else works without.
do $role$
declare
    right_to_become text := case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end;
    how text := case when current_setting('server_version_num')::int >= 160000 then ' with inherit false, set true' else '' end;
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'tenure_api') then
        begin
            create role tenure_api nologin;
        exception
            when duplicate_object or unique_violation then null;  -- made for another database at the same moment
            when insufficient_privilege then
                raise notice 'The role tenure_api could not be made: tenure serve will say what to run.';
                return;
        end;
    end if;
    if not pg_catalog.pg_has_role(current_user, 'tenure_api', right_to_become) then
        begin
            execute format('grant tenure_api to %I', current_user) || how;
        exception
            when insufficient_privilege then
                raise notice 'The role % may not act as tenure_api: tenure serve will say what to run.', current_user;
        end;
    end if;
end
$role$;
select admit_api();
