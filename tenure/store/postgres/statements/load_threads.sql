-- Envelopes with their live (and for shared subjects done, and explicitly named) attempts, holds and open dead letter.
-- Run after the lock, so that its snapshot sees what the lock waited for. Key look-ups.
select e.*, e.state::text as state, e.hold_state::text as hold_state, t.code as template, attempts.attempts,
    (select coalesce(jsonb_agg(to_jsonb(h) || jsonb_build_object('queue_key', q.queue_key)), '[]')
        from tenure.hold h
        left join lateral (select q.queue_key from tenure.queue q where q.uid = h.queue offset 0) q on true
        where h.subject = e.uid) as holds,
    (select coalesce(jsonb_agg(to_jsonb(d) || jsonb_build_object('queue_key', q.queue_key)), '[]')
        from tenure.dead_letter d
        left join lateral (select q.queue_key from tenure.queue q where q.uid = d.queue offset 0) q on true
        where d.subject = e.uid and d.resolution_state = 'OPEN') as dead_letters,
    (select r.retry from tenure.runnable r where e.in_run and r.subject = e.uid) as retry
from unnest(%(uids)s::bigint[]) as wanted(uid)
cross join lateral (select e.* from tenure.execution e where e.uid = wanted.uid offset 0) e
cross join lateral (select s.template from tenure.subject s where s.uid = e.uid offset 0) s
cross join lateral (select t.code from tenure.template t where t.uid = s.template offset 0) t
cross join lateral (
    select coalesce(jsonb_agg(to_jsonb(a) || jsonb_build_object('queue_key', q.queue_key)), '[]') as attempts
    from (
        select x.uid from tenure.attempt x where x.subject = e.uid and x.lease_status = 'ACTIVE'
        union
        select x.uid from tenure.attempt x where e.slots_total > 1 and x.subject = e.uid and x.shared and x.lease_status in ('ACTIVE', 'COMPLETED')
        union
        select named.uid::bigint from jsonb_array_elements_text(%(attempts)s::jsonb -> e.uid::text) as named(uid)) told
    cross join lateral (select a.* from tenure.attempt a where a.uid = told.uid offset 0) a
    left join lateral (select q.queue_key from tenure.queue q where q.uid = a.queue offset 0) q on true) attempts
