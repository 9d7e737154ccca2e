-- What a principal may do is what its facts say: a change of roles, status or password needs the fact that tells of just that.
create function law_principal() returns trigger language plpgsql as $$
declare
    told record;
    lawful boolean;
begin
    select f.type, f.data into told from tenure.fact f where f.thread = new.uid and f.seq = new.seq;
    if tg_op = 'INSERT' then
        lawful := told.type = 'principal.created' and new.status = 'ACTIVE' and new.password_hash is null
            and told.data ->> 'name' = new.name and told.data -> 'roles' = to_jsonb(new.roles);
    else
        lawful := (new.roles = old.roles or told.type = 'principal.changed' and told.data #> '{set,roles}' = to_jsonb(new.roles))
            and (new.status = old.status or told.type = 'principal.changed' and told.data #>> '{set,status}' = new.status::text)
            and (new.password_hash is not distinct from old.password_hash or told.type = 'principal.password_set');
    end if;
    if lawful is not true then
        raise exception 'Principal % changed otherwise than its fact tells', new.name
            using errcode = 'TN003', hint = 'Append the fact that tells of the change, in the same statement.';
    end if;
    return null;
end
$$;
create trigger law_principal_insert after insert on principal for each row execute function law_principal();
create trigger law_principal_update after update on principal for each row
when ((old.roles, old.status) is distinct from (new.roles, new.status) or old.password_hash is distinct from new.password_hash)
execute function law_principal();

create or replace function law_access_token() returns trigger language plpgsql as $$
declare
    told_at int := case when tg_op = 'INSERT' then new.created_seq else new.revoked_seq end;
    told_as text := case when tg_op = 'INSERT' then 'access_token.created' else 'access_token.revoked' end;
begin
    if not exists (
        select from tenure.fact f
        where f.thread = new.principal and f.seq = told_at and f.type = told_as and (f.data ->> 'access_token')::bigint = new.uid
            and (tg_op = 'UPDATE' or new.revoked_at is null
                and coalesce(f.data -> 'roles', 'null') = coalesce(to_jsonb(new.roles), 'null') and f.data ->> 'kind' = new.kind::text
                and (f.data ->> 'expires_at')::timestamptz = new.expires_at)) then
        raise exception 'Silent change of access token %: no fact tells of it', tenure.euid('KX', new.uid)
            using errcode = 'TN003', hint = 'Append the fact to the thread of its principal, in the same statement.';
    end if;
    return null;
end
$$;
