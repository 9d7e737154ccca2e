-- Creates one version of a workflow with the fact that tells of it; nothing where that version is there.
-- Insert only.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, type, actor, idempotency_key, correlation_id, causation_id, trace_id, payload_hash, data, hash)
    select %(thread)s, %(seq)s, %(tenant)s, %(at)s, %(type)s, %(actor)s, %(idempotency_key)s, %(correlation_id)s, %(causation_id)s, %(trace_id)s,
        %(payload_hash)s, %(data)s::jsonb, %(hash)s
    where not exists (
        select from tenure.workflow w where w.tenant = %(tenant)s and w.name = %(name)s and w.version = %(version)s))
insert into tenure.workflow (uid, tenant, name, version, definition, fingerprint, created_at, seq, head)
select %(uid)s, %(tenant)s, %(name)s, %(version)s, %(definition)s::jsonb, %(fingerprint)s, %(created_at)s, %(seq)s, %(hash)s
where not exists (
    select from tenure.workflow w where w.tenant = %(tenant)s and w.name = %(name)s and w.version = %(version)s)
returning uid
