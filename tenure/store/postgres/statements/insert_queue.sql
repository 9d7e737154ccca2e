-- A new queue with the fact that tells of it; nothing where the key is taken meanwhile.
with born as (
    insert into tenure.queue (uid, tenant, queue_key, display_name, enabled, manual_only, operator_visible, dispatch_priority, subject_template_codes, eligible_states, required_worker_capabilities, site_scope, platform_scope, assay_scope, lease_ttl_seconds, max_attempts_default, retry_policy, diagnostics_enabled, disabled_reason, revision, created_at, retired_at, seq, head)
    values (%(uid)s, %(tenant)s, %(queue_key)s, %(display_name)s, %(enabled)s, %(manual_only)s, %(operator_visible)s, %(dispatch_priority)s,
        %(subject_template_codes)s, %(eligible_states)s::text[]::tenure.state[], %(required_worker_capabilities)s, %(site_scope)s, %(platform_scope)s, %(assay_scope)s,
        %(lease_ttl_seconds)s, %(max_attempts_default)s, %(retry_policy)s::jsonb, %(diagnostics_enabled)s, %(disabled_reason)s, %(revision)s,
        %(created_at)s, %(retired_at)s, %(seq)s, %(head)s)
    on conflict do nothing returning uid)
insert into tenure.fact (thread, seq, tenant, at, revision, type, actor, queue_key, idempotency_key, trace_id, payload_hash, data, hash)
select uid, %(seq)s, %(tenant)s, %(at)s, %(revision)s, %(type)s, %(actor)s, %(queue_key)s, %(idempotency_key)s, %(trace_id)s, %(payload_hash)s, %(data)s::jsonb, %(head)s
from born returning thread as uid
