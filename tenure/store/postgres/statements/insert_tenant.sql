-- A new tenant with the fact that tells of it; nothing where the key is taken meanwhile.
with born as (
    insert into tenure.tenant (uid, key, created_at, seq, head)
    values (%(uid)s, %(key)s, %(at)s, 1, %(hash)s) on conflict do nothing returning uid)
insert into tenure.fact (thread, seq, tenant, at, type, actor, data, hash)
select uid, 1, uid, %(at)s, 'tenant.created', %(actor)s, %(data)s::jsonb, %(hash)s from born
returning thread as uid
