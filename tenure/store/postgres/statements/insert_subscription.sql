-- Creates a subscription with its cursor and the fact that tells of it.
-- Insert only.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, type, actor, idempotency_key, correlation_id, causation_id, trace_id, payload_hash, data, hash)
    values (%(thread)s, %(fact_seq)s, %(tenant)s, %(fact_at)s, %(type)s, %(actor)s, %(idempotency_key)s, %(correlation_id)s, %(causation_id)s,
        %(trace_id)s, %(payload_hash)s, %(data)s::jsonb, %(hash)s)),
made as (
    insert into tenure.subscription (uid, tenant, name, spec, enabled, created_at, retired_at, seq, head)
    values (%(uid)s, %(tenant)s, %(name)s, %(spec)s::jsonb, %(enabled)s, %(created_at)s, %(retired_at)s, %(fact_seq)s, %(hash)s))
insert into tenure.worker_cursor (subscription, tenant, position, moved_at)
values (%(uid)s, %(tenant)s, %(position)s, %(fact_at)s)
returning subscription
