-- Creates a schedule with the fact that tells of it; nothing where the name is taken.
-- Insert only.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, type, actor, idempotency_key, correlation_id, causation_id, trace_id, payload_hash, data, hash)
    select %(thread)s, %(fact_seq)s, %(tenant)s, %(fact_at)s, %(type)s, %(actor)s, %(idempotency_key)s, %(correlation_id)s, %(causation_id)s,
        %(trace_id)s, %(payload_hash)s, %(data)s::jsonb, %(hash)s
    where not exists (select from tenure.schedule s where s.tenant = %(tenant)s and s.name = %(name)s))
insert into tenure.schedule (uid, tenant, name, spec, enabled, next_at, last_at, created_at, retired_at, seq, head)
select %(uid)s, %(tenant)s, %(name)s, %(spec)s::jsonb, %(enabled)s, %(next_at)s, %(last_at)s, %(created_at)s, %(retired_at)s, %(fact_seq)s, %(hash)s
where not exists (select from tenure.schedule s where s.tenant = %(tenant)s and s.name = %(name)s)
returning uid
