-- The tenant, and the principal in it that an OpenID Connect provider means, if there is one. See migration 0008.
-- Indexes `tenant_key_key` and `principal_oidc`.
select * from tenure.signed_in_elsewhere(%(tenant_key)s, %(issuer)s, %(subject)s)
