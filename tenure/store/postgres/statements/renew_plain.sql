-- Renews many leases of one worker incarnation: no key, one slot. What is no longer held is left out, and so is what
-- somebody else's transaction has locked: no lease waits for another. Each row is found by its key; the update re-checks.
with clock as materialized (select tenure.now() as now),
item as materialized (
    select i.lease, a.subject, clock.now,
        greatest(a.expires_at, clock.now + make_interval(secs => coalesce(%(ttl)s::int, a.ttl_seconds))) as until
    from clock, unnest(%(leases)s::bigint[]) with ordinality as i(lease, ordinal),
        lateral (
            select a.subject, a.lease_status, a.expires_at, a.worker, a.token_hash, a.incarnation, a.ttl_seconds, a.tenant
            from tenure.attempt a where a.uid = i.lease offset 0) a
    where a.lease_status = 'ACTIVE' and a.expires_at > clock.now and a.worker = %(worker)s and a.token_hash = substring(%(token_hashes)s::bytea from (i.ordinal * 32 - 31)::int for 32)
        and a.incarnation = %(incarnation)s and a.tenant = %(tenant)s
        and exists (
            select from tenure.worker w
            where w.uid = %(worker)s and w.incarnation = %(incarnation)s and w.status in ('ONLINE', 'DRAINING'))),
free as materialized (
    select i.* from item i, lateral (
        select e.uid from tenure.execution e where e.uid = i.subject for no key update skip locked) e),
hashed as materialized (
    select i.*, jsonb_build_object('expires_at',
        to_char(i.until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') || '+00:00') as data
    from free i),
moved as (
    update tenure.execution e
    set seq = e.seq + 1,
        head = tenure.fact_hash(e.head, e.uid, e.seq + 1, i.now, e.tenant, e.revision, i.lease, %(worker)s, 'lease.renewed',
            %(actor)s, e.state, e.next_queue_key, null, null, null, null, %(trace_id)s, i.data)
    from hashed i
    where e.uid = any (array[i.subject]) and e.slots_total = 1 and e.slots_free = 0 and e.last_record = i.lease + 1
        and e.state in ('READY', 'FAILED_RETRYABLE', 'RUNNING', 'WAITING_EXTERNAL')
    returning i.lease, i.now, i.until, i.data, e.uid, e.tenant, e.seq, e.revision, e.state, e.head, e.next_queue_key),
told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, lease, worker, trace_id, data, hash)
    select uid, seq, tenant, now, revision, state, 'lease.renewed', %(actor)s, next_queue_key, lease, %(worker)s, %(trace_id)s, data, head from moved),
renewed as (
    update tenure.attempt a set heartbeat_at = m.now, expires_at = m.until from moved m where a.uid = any (array[m.lease]))
select lease, until, uid, revision, seq, now, next_queue_key, state::text from moved
