-- Completes many running attempts: no key, no next queue, one slot, no step of a run. What is not such, or no longer held, is left out.
-- Each row is found by its key; the envelope's update takes the lock and re-checks, and the rest follows from what it returns.
with clock as materialized (select tenure.now() as now),
same as materialized (
    select tenure.told_before('execution.completed', %(actor)s, 'COMPLETED') as before, tenure.told_after(%(trace_id)s) as after,
        tenure.tell_how_many(cardinality(%(leases)s::bigint[])) as told),
item as materialized (
    select i.lease, i.result, i.result_ref, substring(%(payload_hashes)s::bytea from (i.ordinal * 32 - 31)::int for 32) as payload_hash,
        a.subject, clock.now, same.before, same.after
    from clock, same,
        unnest(%(leases)s::bigint[], %(results)s::jsonb[], %(result_refs)s::text[]) with ordinality as i(lease, result, result_ref, ordinal),
        lateral (
            select a.subject, a.lease_status, a.expires_at, a.worker, a.token_hash, a.started_at, a.tenant
            from tenure.attempt a where a.uid = i.lease offset 0) a
    where a.lease_status = 'ACTIVE' and a.started_at is not null and a.expires_at > clock.now and a.worker = %(worker)s
        and a.token_hash = substring(%(token_hashes)s::bytea from (i.ordinal * 32 - 31)::int for 32) and a.tenant = %(tenant)s),
moved as (
    update tenure.execution e
    set state = 'COMPLETED', revision = e.revision + 1, seq = e.seq + 1, slots_done = 1,
        head = tenure.told_hash(e.head, e.uid, e.seq + 1, i.now, e.tenant, e.revision + 1, i.lease, %(worker)s,
            i.before || coalesce(e.next_queue_key, '') || ',,' || encode(i.payload_hash, 'hex') || i.after)
    from item i
    where e.uid = any (array[i.subject]) and e.state in ('RUNNING', 'WAITING_EXTERNAL') and e.slots_total = 1 and e.slots_free = 0 and e.last_record = i.lease + 1 and not e.in_run
    returning i.lease, i.result, i.result_ref, i.payload_hash, i.now, e.uid, e.tenant, e.seq, e.revision, e.head, e.next_queue_key),
told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, lease, worker, trace_id, payload_hash, hash)
    select uid, seq, tenant, now, revision, 'COMPLETED', 'execution.completed', %(actor)s, next_queue_key, lease, %(worker)s, %(trace_id)s, payload_hash, head
    from moved),
ended as (
    -- By key: a renewal that came between snapshot and lock has given the row another ctid.
    update tenure.attempt a
    set lease_status = 'COMPLETED', record_status = 'SUCCEEDED', ended_at = m.now, end_state = 'COMPLETED', end_revision = m.revision,
        result = m.result, result_ref = m.result_ref
    from moved m where a.uid = any (array[m.lease]))
-- When, for all of them; then each.
select null::bigint as lease, null::bigint as uid, null::int as revision, null::int as seq, now, null::text as next_queue_key from clock
union all
select lease, uid, revision, seq, null, next_queue_key from moved
