-- How many visible subjects of a queue come before one of them, counted up to a limit; nothing where it is not visible.
-- Reads the index `claimable` from its start (in `ahead_in_order`), at most `limit` rows of it that are on offer.
with q as materialized (
    select q.tenant, q.queue_key, tenure.now() as now
    from tenure.queue q where q.tenant = %(tenant)s and q.queue_key = %(queue_key)s and q.retired_at is null),
late as materialized (
    select e.uid, -e.priority as rank, coalesce(e.due_at, 'infinity'::timestamptz) as due, u.since, e.created_at
    from q cross join tenure.unswept(q.tenant, q.queue_key, q.now) u
    cross join lateral (select e.* from tenure.execution e where e.uid = u.uid offset 0) e),
place as materialized (
    select rank, due, since, created_at, uid from late where uid = %(uid)s
    union all
    select -e.priority, coalesce(e.due_at, 'infinity'::timestamptz), e.eligible_at, e.created_at, e.uid
    from tenure.execution e
    join tenure.queue q on q.tenant = e.tenant and q.queue_key = e.next_queue_key and q.retired_at is null
    where e.uid = %(uid)s and e.claimable and tenure.on_offer(e, q, tenure.now(), tenure.took_over(q)))
select least(%(limit)s, ready.ahead + late.ahead) as ahead
from place p
cross join lateral (
    select tenure.ahead_in_order(%(tenant)s, %(queue_key)s, p.rank, p.due, p.since, p.created_at, p.uid, %(limit)s) as ahead offset 0) ready
cross join lateral (
    select count(*) as ahead from late l
    where (l.rank, l.due, l.since, l.created_at, l.uid) < (p.rank, p.due, p.since, p.created_at, p.uid)) late
