-- Lets a subscription go on or stop, with the fact that tells of it; what it says stays.
-- Primary key.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, type, actor, idempotency_key, correlation_id, causation_id, trace_id, payload_hash, data, hash)
    values (%(thread)s, %(fact_seq)s, %(tenant)s, %(fact_at)s, %(type)s, %(actor)s, %(idempotency_key)s, %(correlation_id)s, %(causation_id)s,
        %(trace_id)s, %(payload_hash)s, %(data)s::jsonb, %(hash)s))
update tenure.subscription s set enabled = %(enabled)s, seq = %(fact_seq)s, head = %(hash)s
where s.uid = %(uid)s and s.seq = %(fact_seq)s - 1
returning s.uid
