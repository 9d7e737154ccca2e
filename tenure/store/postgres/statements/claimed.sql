-- Leases as a claim returned them: by uid, or by worker and claim key.
-- Key look-ups; the claim's own fact and those before it give state, revision, seq and priority as they were then.
select a.uid as lease, a.subject, q.queue_key, a.worker, a.attempt_number, f.state::text as state, f.revision, f.seq, a.slot, a.claimed_at,
    a.claimed_at + make_interval(secs => a.ttl_seconds) as expires_at, a.ttl_seconds, coalesce((f.data ->> 'started')::boolean, false) as started,
    t.code as template, s.name, s.external_ref, a.action_key as next_action_key, coalesce(p.priority, 0) as priority, s.properties, s.payload_ref, s.correlation_id, a.claim_hash
from unnest(coalesce(%(leases)s::bigint[], array(
    select a.uid from tenure.attempt a
    where a.worker = %(worker)s and a.claim_key = %(claim_key)s and a.tenant = %(tenant)s))) as wanted(uid)
cross join lateral (select a.* from tenure.attempt a where a.uid = wanted.uid offset 0) a
cross join lateral (select q.queue_key from tenure.queue q where q.uid = a.queue offset 0) q
cross join lateral (select s.* from tenure.subject s where s.uid = a.subject offset 0) s
cross join lateral (select t.code from tenure.template t where t.uid = s.template offset 0) t
cross join lateral (
    select f.* from tenure.fact f where f.thread = a.subject and f.lease = a.uid and f.type = 'lease.claimed' order by f.seq limit 1) f
left join lateral (
    select (p.data -> 'set' ->> 'priority')::smallint as priority from tenure.fact p
    where p.thread = a.subject and p.seq < f.seq and p.data -> 'set' ? 'priority' order by p.seq desc limit 1) p on true
order by a.uid
