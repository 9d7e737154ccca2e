-- A revoked access token with the fact that tells of it, in the thread of its principal.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, type, actor, idempotency_key, trace_id, payload_hash, data, hash)
    values (%(uid)s, %(seq)s, %(tenant)s, %(at)s, %(revision)s, %(type)s, %(actor)s, %(idempotency_key)s, %(trace_id)s, %(payload_hash)s, %(data)s::jsonb, %(head)s)),
known as (
    update tenure.principal p set seq = %(seq)s, head = %(head)s where p.uid = %(uid)s)
update tenure.access_token t set revoked_at = %(at)s, revoked_seq = %(seq)s
where t.uid = %(access_token)s
returning t.uid
