-- Principals by name, from one on.
-- Index `principal_tenant_name_key`.
select p.uid, p.tenant, p.name, p.display_name, p.roles, p.status::text as status, p.oidc_issuer, p.oidc_subject, p.has_password, p.revision, p.seq, p.created_at from tenure.principal p
where p.tenant = %(tenant)s and p.name > %(after)s
order by p.name limit %(limit)s
