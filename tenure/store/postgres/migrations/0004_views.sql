-- The two faces of an attempt, actions and lineage, by the names of S1.

create view queue_lease as
select euid('LX', a.uid) as euid, a.uid, a.tenant, a.subject, a.queue, a.worker, a.lease_status as status, a.claimed_at,
    coalesce(a.heartbeat_at, a.claimed_at) as heartbeat_at, a.expires_at, a.ended_at as released_at, a.release_reason,
    a.attempt_number, a.ttl_seconds, a.slot, a.action_key as next_action_key, a.claim_key as idempotency_key,
    a.start_revision as subject_revision_at_claim
from attempt a where a.lease_status is not null;

create view execution_record as
select euid('RX', a.uid + 1) as euid, a.uid + 1 as uid, a.tenant, a.subject, a.queue, a.worker,
    case when a.lease_status is not null then a.uid end as lease, a.attempt_number, a.record_status as status, a.action_key,
    a.start_state as expected_state, a.start_state, a.end_state, a.start_revision, a.end_revision, a.claimed_at,
    a.started_at, a.ended_at as finished_at,
    (extract(epoch from a.ended_at - coalesce(a.started_at, a.claimed_at)) * 1000)::bigint as duration_ms,
    a.retryable, a.error_class, a.error_code, a.error_message, a.external_ref, a.result as result_snapshot, a.result_ref,
    s.properties as input_snapshot, s.correlation_id
from attempt a join subject s on s.uid = a.subject;

create view action_instance as
select f.position, euid('SX', f.thread) as thread_euid, f.thread, f.seq, t.action, f.type, f.at, f.actor, f.state,
    f.revision, f.queue_key, f.lease, f.worker, f.idempotency_key, encode(f.payload_hash, 'hex') as payload_hash,
    f.correlation_id, f.causation_id, f.trace_id, f.data, f.tenant, t.domain, t.stream, t.severity
from fact f join fact_type t using (type);

create view lineage as
select a.tenant, a.subject as parent, a.uid as child, 'execution_subject_lease' as relation from attempt a where lease_status is not null
union all select a.tenant, a.worker, a.uid, 'execution_worker_lease' from attempt a where lease_status is not null
union all select a.tenant, a.queue, a.uid, 'execution_queue_lease' from attempt a where lease_status is not null
union all select a.tenant, a.uid, a.uid + 1, 'execution_lease_record' from attempt a where lease_status is not null
union all select a.tenant, a.subject, a.uid + 1, 'execution_subject_record' from attempt a
union all select a.tenant, a.worker, a.uid + 1, 'execution_worker_record' from attempt a where worker is not null
union all select a.tenant, a.queue, a.uid + 1, 'execution_queue_record' from attempt a
union all select h.tenant, h.subject, h.uid, 'execution_subject_hold' from hold h
union all select h.tenant, h.queue, h.uid, 'execution_queue_hold' from hold h where queue is not null
union all select h.tenant, h.worker, h.uid, 'execution_actor_hold' from hold h where worker is not null
union all select d.tenant, d.subject, d.uid, 'execution_subject_dead_letter' from dead_letter d
union all select d.tenant, d.queue, d.uid, 'execution_queue_dead_letter' from dead_letter d where queue is not null
union all select d.tenant, d.attempt + 1, d.uid, 'execution_record_dead_letter' from dead_letter d
union all select l.tenant, l.parent, l.child, l.relation from link l;
