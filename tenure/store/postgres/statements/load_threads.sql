-- Envelopes with their live (and for shared subjects done, and explicitly named) attempts, holds and open dead letter.
-- Run after the lock, so that its snapshot sees what the lock waited for. Key look-ups.
select e.*, e.state::text as state, e.hold_state::text as hold_state, t.code as template,
    (select coalesce(jsonb_agg(to_jsonb(a) || jsonb_build_object('queue_key', q.queue_key)), '[]')
        from tenure.attempt a left join tenure.queue q on q.uid = a.queue
        where a.uid in (
            select x.uid from tenure.attempt x where x.subject = e.uid and x.lease_status = 'ACTIVE'
            union all select x.uid from tenure.attempt x
                where x.subject = e.uid and x.shared and x.lease_status in ('ACTIVE', 'COMPLETED')
            union all select x.uid from tenure.attempt x where x.uid = any (%(attempts)s) and x.subject = e.uid)) as attempts,
    (select coalesce(jsonb_agg(to_jsonb(h) || jsonb_build_object('queue_key', q.queue_key)), '[]')
        from tenure.hold h left join tenure.queue q on q.uid = h.queue where h.subject = e.uid) as holds,
    (select coalesce(jsonb_agg(to_jsonb(d) || jsonb_build_object('queue_key', q.queue_key)), '[]')
        from tenure.dead_letter d left join tenure.queue q on q.uid = d.queue
        where d.subject = e.uid and d.resolution_state = 'OPEN') as dead_letters
from unnest(%(uids)s::bigint[]) as wanted(uid)
join tenure.execution e on e.uid = wanted.uid
join tenure.subject s on s.uid = e.uid
join tenure.template t on t.uid = s.template
