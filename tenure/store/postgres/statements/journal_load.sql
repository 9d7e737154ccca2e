-- Runs' facts after a revision, or after the checkpoint of that format where no revision is given; data as text, which
-- hashing needs to the letter. Key look-ups.
select r.uid, r.seq, r.head, c.rev, c.checkpoint_head, c.state, facts.facts
from unnest(%(uids)s::bigint[]) as wanted(uid)
cross join lateral (select r.uid, r.seq, r.head from tenure.run r where r.uid = wanted.uid offset 0) r
left join lateral (
    select c.rev, c.head as checkpoint_head, c.state from tenure.journal_checkpoint c
    where c.thread = r.uid and c.format = %(format)s and c.rev <= r.seq offset 0) c on true
cross join lateral (
    select coalesce(json_agg(f), '[]') as facts
    from (
        select f.thread, f.seq, f.type, f.at, f.tenant, f.actor, f.state, f.revision, f.queue_key, f.lease, f.worker, f.data::text as data,
            f.idempotency_key, f.payload_hash, f.correlation_id, f.causation_id, f.trace_id, f.hash, f.position
        from tenure.fact f
        where f.thread = r.uid and f.seq > coalesce(%(after)s::int, c.rev, 0) order by f.seq limit %(limit)s) f) facts
