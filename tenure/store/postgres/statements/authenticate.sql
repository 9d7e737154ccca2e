-- Whom a token proves, and when it was last used; nothing where it proves nobody. See migration 0008.
-- Index `access_token_digest_key`, then primary keys.
select * from tenure.authenticate(%(digest)s)
