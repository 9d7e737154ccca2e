-- The hash of a principal's new password with the fact that tells of it.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, type, actor, idempotency_key, trace_id, payload_hash, data, hash)
    values (%(uid)s, %(seq)s, %(tenant)s, %(at)s, %(revision)s, %(type)s, %(actor)s, %(idempotency_key)s, %(trace_id)s, %(payload_hash)s, %(data)s::jsonb, %(head)s))
update tenure.principal p set password_hash = %(password_hash)s, revision = %(revision)s, seq = %(seq)s, head = %(head)s
where p.uid = %(uid)s
returning p.uid
