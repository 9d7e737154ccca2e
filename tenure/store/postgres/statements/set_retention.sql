-- Keeps a kind for so long, with the fact on its tenant's thread that tells of it.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, type, actor, idempotency_key, payload_hash, data, hash)
    values (%(tenant)s, %(seq)s, %(tenant)s, %(at)s, %(type)s, %(actor)s, %(key)s, %(payload_hash)s, %(data)s::jsonb, %(hash)s)),
moved as (
    update tenure.tenant set seq = %(seq)s, head = %(hash)s where uid = %(tenant)s)
insert into tenure.retention (tenant, kind, days, set_seq) values (%(tenant)s, %(kind)s, %(days)s, %(seq)s)
on conflict (tenant, kind) do update set days = excluded.days, set_seq = excluded.set_seq
