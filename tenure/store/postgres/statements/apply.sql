-- Writes what decisions made of loaded, locked threads, in one statement so that the law sees all of it together.
-- Keys only: one row for each thing that changed. `= any (array[...])` is an equality that no plan can turn around,
-- to walk the whole table and look for each of its rows among those that changed.
with fact as (
    insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, lease, worker, idempotency_key,
        correlation_id, causation_id, trace_id, payload_hash, data, hash)
    select thread, seq, tenant, at, revision, state, type, actor, queue_key, lease, worker, idempotency_key, correlation_id, causation_id,
        trace_id, decode(payload_hash, 'hex'), data, decode(hash, 'hex')
    from jsonb_to_recordset(%(facts)s::jsonb) as f(thread bigint, seq int, tenant bigint, at timestamptz, revision int, state tenure.state,
        type text, actor text, queue_key text, lease bigint, worker bigint, idempotency_key text, correlation_id text, causation_id bigint,
        trace_id text, payload_hash text, data jsonb, hash text)),
attempt as (
    insert into tenure.attempt as a (uid, tenant, subject, queue, worker, incarnation, attempt_number, ttl_seconds, start_revision, end_revision,
        slot, shared, retryable, lease_status, record_status, start_state, end_state, claimed_at, heartbeat_at, expires_at, started_at, ended_at,
        token_hash, claim_hash, claim_key, release_reason, action_key, external_ref, error_class, error_code, error_message, result_ref, result)
    select i.uid, i.tenant, i.subject, coalesce(i.queue, q.uid), i.worker, i.incarnation, i.attempt_number, i.ttl_seconds, i.start_revision, i.end_revision,
        i.slot, coalesce(i.shared, false), i.retryable, i.lease_status, i.record_status, i.start_state, i.end_state, i.claimed_at, i.heartbeat_at, i.expires_at,
        i.started_at, i.ended_at, decode(i.token_hash, 'hex'), decode(i.claim_hash, 'hex'), i.claim_key, i.release_reason, i.action_key, i.external_ref,
        i.error_class, i.error_code, i.error_message, i.result_ref, i.result
    from jsonb_to_recordset(%(new_attempts)s::jsonb) as i(uid bigint, tenant bigint, subject bigint, queue bigint, queue_key text, worker bigint,
        incarnation int, attempt_number int, ttl_seconds int, start_revision int, end_revision int, slot smallint, shared boolean, retryable boolean,
        lease_status tenure.lease_status, record_status tenure.record_status, start_state tenure.state, end_state tenure.state, claimed_at timestamptz,
        heartbeat_at timestamptz, expires_at timestamptz, started_at timestamptz, ended_at timestamptz, token_hash text, claim_hash text, claim_key text,
        release_reason text, action_key text, external_ref text, error_class text, error_code text, error_message text, result_ref text, result jsonb)
    left join lateral (
        select q.uid from tenure.queue q where q.tenant = i.tenant and q.queue_key = i.queue_key
        order by q.retired_at desc nulls first limit 1) q on true),
changed_attempt as (
    update tenure.attempt a
    set lease_status = i.lease_status, record_status = i.record_status, end_state = i.end_state, end_revision = i.end_revision,
        heartbeat_at = i.heartbeat_at, expires_at = i.expires_at, started_at = i.started_at, ended_at = i.ended_at, release_reason = i.release_reason,
        external_ref = i.external_ref, error_class = i.error_class, error_code = i.error_code,
        error_message = coalesce(i.error_message, a.error_message), retryable = coalesce(i.retryable, a.retryable),
        result = coalesce(i.result, a.result), result_ref = coalesce(i.result_ref, a.result_ref)
    from jsonb_to_recordset(%(changed_attempts)s::jsonb) as i(uid bigint, lease_status tenure.lease_status, record_status tenure.record_status,
        end_state tenure.state, end_revision int, heartbeat_at timestamptz, expires_at timestamptz, started_at timestamptz, ended_at timestamptz,
        release_reason text, external_ref text, error_class text, error_code text, error_message text, retryable boolean, result jsonb, result_ref text)
    where a.uid = any (array[i.uid])),
hold as (
    insert into tenure.hold as h (uid, tenant, subject, queue, worker, status, hold_code, reason, placed_by, placed_at, released_by, released_at)
    select i.uid, i.tenant, i.subject, q.uid, i.worker, i.status, i.hold_code, i.reason, i.placed_by, i.placed_at, i.released_by, i.released_at
    from jsonb_to_recordset(%(holds)s::jsonb) as i(uid bigint, tenant bigint, subject bigint, queue_key text, worker bigint, status tenure.hold_status,
        hold_code text, reason text, placed_by text, placed_at timestamptz, released_by text, released_at timestamptz)
    left join lateral (
        select q.uid from tenure.queue q where q.tenant = i.tenant and q.queue_key = i.queue_key
        order by q.retired_at desc nulls first limit 1) q on true
    on conflict (uid) do update set status = excluded.status, released_by = excluded.released_by, released_at = excluded.released_at),
dead_letter as (
    insert into tenure.dead_letter as d (uid, tenant, subject, queue, attempt, dead_lettered_at, failure_count, error_class, error_message,
        resolution_state, resolved_by, resolved_at)
    select i.uid, i.tenant, i.subject, q.uid, i.attempt, i.dead_lettered_at, i.failure_count, i.error_class, i.error_message,
        i.resolution_state, i.resolved_by, i.resolved_at
    from jsonb_to_recordset(%(dead_letters)s::jsonb) as i(uid bigint, tenant bigint, subject bigint, queue_key text, attempt bigint,
        dead_lettered_at timestamptz, failure_count int, error_class text, error_message text, resolution_state tenure.resolution, resolved_by text,
        resolved_at timestamptz)
    left join lateral (
        select q.uid from tenure.queue q where q.tenant = i.tenant and q.queue_key = i.queue_key
        order by q.retired_at desc nulls first limit 1) q on true
    on conflict (uid) do update set resolution_state = excluded.resolution_state, resolved_by = excluded.resolved_by, resolved_at = excluded.resolved_at),
link as (
    insert into tenure.link (parent, child, relation, tenant, created_at)
    select parent, child, relation, tenant, created_at
    from jsonb_to_recordset(%(links)s::jsonb) as i(parent bigint, child bigint, relation text, tenant bigint, created_at timestamptz)
    on conflict do nothing),
execution as (
    update tenure.execution e
    set state = i.state, revision = i.revision, seq = i.seq, head = decode(i.head, 'hex'), next_queue_key = i.next_queue_key,
        next_action_key = i.next_action_key, priority = i.priority, ready_at = i.ready_at, due_at = i.due_at, retry_at = i.retry_at,
        attempt_count = i.attempt_count, max_attempts_override = i.max_attempts_override, hold_state = i.hold_state, hold_reason = i.hold_reason,
        cancel_requested = i.cancel_requested, slots_free = i.slots_free, slots_done = i.slots_done, last_record = i.last_record,
        deferred = i.deferred
    from jsonb_to_recordset(%(envelopes)s::jsonb) as i(uid bigint, state tenure.state, revision int, seq int, head text, next_queue_key text,
        next_action_key text, priority smallint, ready_at timestamptz, due_at timestamptz, retry_at timestamptz, attempt_count int,
        max_attempts_override int, hold_state tenure.hold_state, hold_reason text, cancel_requested boolean, slots_free smallint, slots_done smallint,
        last_record bigint, deferred boolean)
    where e.uid = any (array[i.uid])
    returning e.uid, e.tenant, e.next_queue_key, e.claimable)
select count(pg_notify('tenure_work', n.tenant || ' ' || n.next_queue_key)) as hinted, (select count(*) from execution) as written
from (select distinct tenant, next_queue_key from execution where claimable and %(notify)s) n
