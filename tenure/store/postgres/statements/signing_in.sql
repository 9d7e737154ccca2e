-- The active principal behind a name that is signing in, with the hash of its password. See migration 0008.
-- Indexes `tenant_key_key` and `principal_tenant_name_key`.
select * from tenure.signing_in(%(tenant_key)s, %(name)s)
