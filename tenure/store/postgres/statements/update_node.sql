-- Changes a management node with the fact that tells of it.
-- Primary key.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, type, actor, idempotency_key, correlation_id, causation_id, trace_id, payload_hash, data, hash)
    values (%(thread)s, %(fact_seq)s, %(tenant)s, %(fact_at)s, %(type)s, %(actor)s, %(idempotency_key)s, %(correlation_id)s, %(causation_id)s,
        %(trace_id)s, %(payload_hash)s, %(data)s::jsonb, %(hash)s))
update tenure.management_node n
set spec = %(spec)s::jsonb, principal = %(principal)s, seq = %(fact_seq)s, head = %(hash)s
where n.uid = %(uid)s and n.seq = %(fact_seq)s - 1
returning n.uid
