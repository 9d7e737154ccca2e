-- What plain ends of steps meet: each run with its facts behind what is known or the checkpoint, and which of the leases are its. What is
-- no such step, or no longer held, is left out. Key look-ups. Nothing is locked: `hand_over` asks whether all of it still is so.
with item as materialized (
    select i.lease, a.subject, e.seq, k.run, k.runnable_key
    from unnest(%(leases)s::bigint[]) with ordinality as i(lease, ordinal)
    cross join lateral (
        select a.subject, a.lease_status, a.expires_at, a.worker, a.token_hash, a.started_at, a.tenant
        from tenure.attempt a where a.uid = i.lease offset 0) a
    cross join lateral (
        select e.seq, e.state, e.slots_total, e.slots_free, e.last_record, e.in_run
        from tenure.execution e where e.uid = a.subject offset 0) e
    cross join lateral (select k.run, k.runnable_key from tenure.runnable k where k.subject = a.subject offset 0) k
    where a.lease_status = 'ACTIVE' and a.started_at is not null and a.expires_at > tenure.now() and a.worker = %(worker)s
        and a.token_hash = substring(%(token_hashes)s::bytea from (i.ordinal * 32 - 31)::int for 32) and a.tenant = %(tenant)s
        and e.state = 'RUNNING' and e.slots_total = 1 and e.slots_free = 0 and e.last_record = i.lease + 1 and e.in_run),
chosen as materialized (
    select run, json_agg(json_build_array(lease, subject, seq, runnable_key) order by lease) as ends from item group by run)
select r.*, chosen.ends, tenure.now() as now, array(select nextval('tenure.uid') from generate_series(1, json_array_length(chosen.ends))) as uids,
    c.rev, c.checkpoint_head, c.state, k.known, facts.facts
from chosen
cross join lateral (select r.* from tenure.run r where r.uid = chosen.run and r.tenant = %(tenant)s and r.status = 'RUNNING' offset 0) r
left join lateral (
    select c.rev, c.head as checkpoint_head, c.state from tenure.journal_checkpoint c
    where c.thread = r.uid and c.format = %(format)s and c.rev <= r.seq offset 0) c on true
cross join lateral (
    select case when (%(known)s::jsonb ->> r.uid::text)::int <= r.seq then (%(known)s::jsonb ->> r.uid::text)::int end as known) k
cross join lateral (
    select coalesce(json_agg(f), '[]') as facts
    from (
        select f.thread, f.seq, f.type, f.at, f.tenant, f.actor, f.state, f.revision, f.queue_key, f.lease, f.worker, f.data::text as data,
            f.idempotency_key, f.payload_hash, f.correlation_id, f.causation_id, f.trace_id, f.hash, f.position
        from tenure.fact f
        where f.thread = r.uid and f.seq > coalesce(k.known, c.rev, 0) order by f.seq) f) facts
order by r.uid
