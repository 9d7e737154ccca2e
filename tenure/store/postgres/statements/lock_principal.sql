-- The same, locked.
-- Primary key, as in `worker`; where only the name is known, after a look-up of the uid by it. A `coalesce` would not be trusted before the wall's own condition.
select p.uid, p.tenant, p.name, p.display_name, p.roles, p.status::text as status, p.oidc_issuer, p.oidc_subject, p.has_password, p.revision, p.seq, p.created_at from tenure.principal p
where (p.tenant = %(tenant)s) is true and p.uid = case when %(uid)s::bigint is not null then %(uid)s::bigint else (
    select k.uid from tenure.principal k where k.tenant = %(tenant)s and k.name = %(name)s) end
for no key update
