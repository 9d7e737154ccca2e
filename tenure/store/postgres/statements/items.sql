-- What is visible in a queue, in execution order, from a key on.
-- Reads the index `claimable` from the key on (in `in_order`), and sorts only what the next claim has to promote or to take over.
with visible as (
    select e.uid, e.rank, e.due, e.since, e.created_at
    from tenure.in_order(%(tenant)s, %(queue_key)s, %(after_priority)s::int, %(after_due)s::timestamptz, %(after_eligible)s::timestamptz, %(after_created)s::timestamptz, %(after_uid)s::bigint, %(limit)s) e
    union all
    select u.uid, -e.priority, coalesce(e.due_at, 'infinity'::timestamptz), u.since, e.created_at
    from tenure.unswept(%(tenant)s, %(queue_key)s, tenure.now()) u
    cross join lateral (select e.* from tenure.execution e where e.uid = u.uid offset 0) e),
page as materialized (
    select v.uid, v.rank, v.due, v.since, v.created_at
    from visible v
    where (v.rank, v.due, v.since, v.created_at, v.uid)
        > (%(after_priority)s::int, %(after_due)s::timestamptz, %(after_eligible)s::timestamptz, %(after_created)s::timestamptz, %(after_uid)s::bigint)
    order by v.rank, v.due, v.since, v.created_at, v.uid
    limit %(limit)s)
select e.*, e.state::text as state, e.hold_state::text as hold_state, t.code as template, s.name, s.external_ref, p.since
from page p
cross join lateral (select e.* from tenure.execution e where e.uid = p.uid offset 0) e
cross join lateral (select s.name, s.external_ref, s.template from tenure.subject s where s.uid = p.uid offset 0) s
cross join lateral (select t.code from tenure.template t where t.uid = s.template offset 0) t
order by p.rank, p.due, p.since, p.created_at, p.uid
