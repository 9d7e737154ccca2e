-- Access tokens, newest first, of one principal or of all; two branches, of which one is never executed.
-- Indexes `access_token_of` and `access_token_newest`, read backwards.
select t.uid, t.tenant, t.principal, t.kind::text as kind, t.label, t.roles, t.created_at, t.expires_at, t.revoked_at, t.last_used_at
from (
    (select t.uid, t.tenant, t.principal, t.kind, t.label, t.roles, t.created_at, t.expires_at, t.revoked_at, t.last_used_at from tenure.access_token t
    where t.principal = %(principal)s::bigint and (t.tenant = %(tenant)s) is true and t.uid < %(before)s
        and (%(usable)s::boolean is false or (t.revoked_at is null and t.expires_at > tenure.now()))
    order by t.uid desc limit %(limit)s)
    union all
    (select t.uid, t.tenant, t.principal, t.kind, t.label, t.roles, t.created_at, t.expires_at, t.revoked_at, t.last_used_at from tenure.access_token t
    where %(principal)s::bigint is null and t.tenant = %(tenant)s and t.uid < %(before)s
        and (%(usable)s::boolean is false or (t.revoked_at is null and t.expires_at > tenure.now()))
    order by t.tenant desc, t.uid desc limit %(limit)s)) t
order by t.uid desc limit %(limit)s
