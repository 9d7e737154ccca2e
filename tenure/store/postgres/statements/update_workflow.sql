-- Retires one version of a workflow with the fact that tells of it.
-- Primary key.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, type, actor, idempotency_key, correlation_id, causation_id, trace_id, payload_hash, data, hash)
    values (%(thread)s, %(seq)s, %(tenant)s, %(at)s, %(type)s, %(actor)s, %(idempotency_key)s, %(correlation_id)s, %(causation_id)s, %(trace_id)s,
        %(payload_hash)s, %(data)s::jsonb, %(hash)s))
update tenure.workflow w set retired_at = %(retired_at)s, seq = %(seq)s, head = %(hash)s
where w.uid = %(uid)s and w.seq = %(seq)s - 1
returning w.uid
