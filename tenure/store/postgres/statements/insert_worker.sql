-- A new worker with the fact that tells of it; nothing where the key is taken meanwhile.
with born as (
    insert into tenure.worker (uid, tenant, worker_key, created_at, display_name, worker_type, status, capabilities, site_scope, platform_scope, assay_scope, max_concurrent_leases, heartbeat_at, heartbeat_ttl_seconds, build_version, host, process_identity, queues, tasks, workflows, incarnation, drain_requested, disabled_reason, last_error_at, last_error_class, revision, owner, seq, head)
    values (%(uid)s, %(tenant)s, %(worker_key)s, %(created_at)s, %(display_name)s, %(worker_type)s::tenure.worker_type, %(status)s::tenure.worker_status, %(capabilities)s, %(site_scope)s, %(platform_scope)s, %(assay_scope)s, %(max_concurrent_leases)s, %(heartbeat_at)s, %(heartbeat_ttl_seconds)s, %(build_version)s, %(host)s, %(process_identity)s, %(queues)s, %(tasks)s, %(workflows)s, %(incarnation)s, %(drain_requested)s, %(disabled_reason)s, %(last_error_at)s, %(last_error_class)s, %(revision)s, %(owner)s, %(seq)s, %(head)s)
    on conflict do nothing returning uid)
insert into tenure.fact (thread, seq, tenant, at, revision, type, actor, worker, idempotency_key, trace_id, payload_hash, data, hash)
select uid, %(seq)s, %(tenant)s, %(at)s, %(revision)s, %(type)s, %(actor)s, uid, %(idempotency_key)s, %(trace_id)s, %(payload_hash)s, %(data)s::jsonb, %(head)s
from born returning thread as uid
