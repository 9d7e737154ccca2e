-- What is visible in a queue, in execution order, from a key on.
-- Reads the index `claimable` from the key on, and sorts only what the next claim has to promote or to take over.
with page as (
    select e.uid, e.eligible_at as since
    from tenure.queue q
    cross join lateral (select tenure.now() as now, tenure.took_over(q) as taken_over offset 0) s
    cross join lateral (
        select e.uid, e.eligible_at
        from tenure.execution e
        where e.tenant = q.tenant and e.next_queue_key = q.queue_key and e.claimable and tenure.on_offer(e, q, s.now, s.taken_over)
            and (-e.priority, coalesce(e.due_at, 'infinity'::timestamptz), e.eligible_at, e.created_at, e.uid)
                > (%(after_priority)s::int, %(after_due)s::timestamptz, %(after_eligible)s::timestamptz, %(after_created)s::timestamptz, %(after_uid)s::bigint)
        order by -e.priority, coalesce(e.due_at, 'infinity'::timestamptz), e.eligible_at, e.created_at, e.uid
        limit %(limit)s) e
    where q.tenant = %(tenant)s and q.queue_key = %(queue_key)s and q.retired_at is null
    union all
    select u.uid, u.since from tenure.unswept(%(tenant)s, %(queue_key)s, tenure.now()) u)
select e.*, e.state::text as state, e.hold_state::text as hold_state, t.code as template, s.name, s.external_ref, p.since
from page p
cross join lateral (select e.* from tenure.execution e where e.uid = p.uid offset 0) e
cross join lateral (select s.name, s.external_ref, s.template from tenure.subject s where s.uid = p.uid offset 0) s
cross join lateral (select t.code from tenure.template t where t.uid = s.template offset 0) t
where (-e.priority, coalesce(e.due_at, 'infinity'::timestamptz), p.since, e.created_at, e.uid)
    > (%(after_priority)s::int, %(after_due)s::timestamptz, %(after_eligible)s::timestamptz, %(after_created)s::timestamptz, %(after_uid)s::bigint)
order by -e.priority, coalesce(e.due_at, 'infinity'::timestamptz), p.since, e.created_at, e.uid
limit %(limit)s
