-- A changed worker with the fact that tells of it.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, type, actor, worker, idempotency_key, trace_id, payload_hash, data, hash)
    values (%(uid)s, %(seq)s, %(tenant)s, %(at)s, %(revision)s, %(type)s, %(actor)s, %(uid)s, %(idempotency_key)s, %(trace_id)s, %(payload_hash)s, %(data)s::jsonb, %(head)s))
update tenure.worker
set display_name = %(display_name)s, worker_type = %(worker_type)s::tenure.worker_type, status = %(status)s::tenure.worker_status, capabilities = %(capabilities)s, site_scope = %(site_scope)s, platform_scope = %(platform_scope)s, assay_scope = %(assay_scope)s, max_concurrent_leases = %(max_concurrent_leases)s, heartbeat_at = %(heartbeat_at)s, heartbeat_ttl_seconds = %(heartbeat_ttl_seconds)s, build_version = %(build_version)s, host = %(host)s, process_identity = %(process_identity)s, queues = %(queues)s, tasks = %(tasks)s, workflows = %(workflows)s, incarnation = %(incarnation)s, drain_requested = %(drain_requested)s, disabled_reason = %(disabled_reason)s, last_error_at = %(last_error_at)s, last_error_class = %(last_error_class)s, revision = %(revision)s, seq = %(seq)s, head = %(head)s
where uid = %(uid)s
returning uid
