-- A changed or retired queue with the fact that tells of it.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, type, actor, queue_key, idempotency_key, trace_id, payload_hash, data, hash)
    values (%(uid)s, %(seq)s, %(tenant)s, %(at)s, %(revision)s, %(type)s, %(actor)s, %(queue_key)s, %(idempotency_key)s, %(trace_id)s, %(payload_hash)s, %(data)s::jsonb, %(head)s))
update tenure.queue
set display_name = %(display_name)s, enabled = %(enabled)s, manual_only = %(manual_only)s, operator_visible = %(operator_visible)s,
    dispatch_priority = %(dispatch_priority)s, eligible_states = %(eligible_states)s::text[]::tenure.state[],
    required_worker_capabilities = %(required_worker_capabilities)s, site_scope = %(site_scope)s, platform_scope = %(platform_scope)s,
    assay_scope = %(assay_scope)s, lease_ttl_seconds = %(lease_ttl_seconds)s, max_attempts_default = %(max_attempts_default)s,
    retry_policy = %(retry_policy)s::jsonb, diagnostics_enabled = %(diagnostics_enabled)s, disabled_reason = %(disabled_reason)s,
    revision = %(revision)s, retired_at = %(retired_at)s, seq = %(seq)s, head = %(head)s
where uid = %(uid)s
returning uid
