-- Leases as a claim returned them: by uid, or by worker and claim key.
-- Key look-ups; the claim's own fact and those before it give state, revision, seq and priority as they were then.
select a.uid as lease, a.subject, q.queue_key, a.worker, a.attempt_number, f.state::text as state, f.revision, f.seq, a.slot, a.claimed_at,
    a.claimed_at + make_interval(secs => a.ttl_seconds) as expires_at, a.ttl_seconds, coalesce((f.data ->> 'started')::boolean, false) as started,
    t.code as template, s.name, s.external_ref, a.action_key as next_action_key, coalesce(p.priority, 0) as priority, s.properties, s.payload_ref, s.correlation_id, a.claim_hash
from tenure.attempt a
join tenure.queue q on q.uid = a.queue
join tenure.subject s on s.uid = a.subject
join tenure.template t on t.uid = s.template
join lateral (
    select f.* from tenure.fact f where f.thread = a.subject and f.lease = a.uid and f.type = 'lease.claimed' order by f.seq limit 1) f on true
left join lateral (
    select (p.data -> 'set' ->> 'priority')::smallint as priority from tenure.fact p
    where p.thread = a.subject and p.seq < f.seq and p.data -> 'set' ? 'priority' order by p.seq desc limit 1) p on true
where case when %(leases)s::bigint[] is not null then a.uid = any (%(leases)s)
    else a.worker = %(worker)s and a.claim_key = %(claim_key)s and a.tenant = %(tenant)s end
order by a.uid
