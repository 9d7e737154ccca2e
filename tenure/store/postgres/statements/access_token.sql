-- One access token by uid.
-- Primary key.
select t.uid, t.tenant, t.principal, t.kind::text as kind, t.label, t.roles, t.created_at, t.expires_at, t.revoked_at, t.last_used_at from tenure.access_token t where t.uid = %(uid)s and (t.tenant = %(tenant)s) is true
