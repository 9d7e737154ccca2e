-- Defines a management node with the fact that tells of it; nothing where the name or the principal is taken.
-- Insert only.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, type, actor, idempotency_key, correlation_id, causation_id, trace_id, payload_hash, data, hash)
    select %(thread)s, %(fact_seq)s, %(tenant)s, %(fact_at)s, %(type)s, %(actor)s, %(idempotency_key)s, %(correlation_id)s, %(causation_id)s,
        %(trace_id)s, %(payload_hash)s, %(data)s::jsonb, %(hash)s
    where not exists (
        select from tenure.management_node n where n.tenant = %(tenant)s and (n.name = %(name)s or n.principal = %(principal)s)))
insert into tenure.management_node (uid, tenant, name, spec, worker, principal, created_at, seq, head)
select %(uid)s, %(tenant)s, %(name)s, %(spec)s::jsonb, %(worker)s, %(principal)s, %(created_at)s, %(fact_seq)s, %(hash)s
where not exists (
    select from tenure.management_node n where n.tenant = %(tenant)s and (n.name = %(name)s or n.principal = %(principal)s))
returning uid
