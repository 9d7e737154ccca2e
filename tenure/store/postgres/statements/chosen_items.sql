-- What is visible in a queue, of these sites, platforms, assays and states only, in execution order, from a key on.
-- Reads at most `scan` rows of the index `claimable` from the key on (in `claimable_in_order`), and says where it stopped when there are more: the
-- first row tells of that, and has an item only where one was found.
with scanned as materialized (
    select e.*
    from tenure.queue q
    cross join tenure.claimable_in_order(q.tenant, q.queue_key, %(after_priority)s::int, %(after_due)s::timestamptz, %(after_eligible)s::timestamptz, %(after_created)s::timestamptz, %(after_uid)s::bigint, %(scan)s) e
    where q.tenant = %(tenant)s and q.queue_key = %(queue_key)s and q.retired_at is null),
reached as materialized (
    select s.* from scanned s
    where (select count(*) from scanned) = %(scan)s
    order by s.rank desc, s.due desc, s.since desc, s.created_at desc, s.uid desc limit 1),
visible as (
    select s.uid, s.rank, s.due, s.since, s.created_at
    from tenure.queue q
    cross join lateral (select tenure.now() as now, tenure.took_over(q) as taken_over offset 0) c
    cross join scanned s
    join tenure.execution e on e.uid = any (array[s.uid])
    where q.tenant = %(tenant)s and q.queue_key = %(queue_key)s and q.retired_at is null and tenure.on_offer(e, q, c.now, c.taken_over)
        and (%(site)s::text is null or e.site = %(site)s) and (%(platform)s::text is null or e.platform = %(platform)s)
        and (%(assay)s::text is null or e.assay = %(assay)s) and (%(states)s::text[] is null or e.state::text = any (%(states)s))
    union all
    select u.uid, -e.priority, coalesce(e.due_at, 'infinity'::timestamptz), u.since, e.created_at
    from tenure.unswept(%(tenant)s, %(queue_key)s, tenure.now()) u
    cross join lateral (select e.* from tenure.execution e where e.uid = u.uid offset 0) e
    where (%(site)s::text is null or e.site = %(site)s) and (%(platform)s::text is null or e.platform = %(platform)s)
        and (%(assay)s::text is null or e.assay = %(assay)s) and (%(states)s::text[] is null or e.state::text = any (%(states)s))),
page as materialized (
    select v.*
    from visible v
    where (v.rank, v.due, v.since, v.created_at, v.uid)
            > (%(after_priority)s::int, %(after_due)s::timestamptz, %(after_eligible)s::timestamptz, %(after_created)s::timestamptz, %(after_uid)s::bigint)
        and not exists (
            select from reached r where (v.rank, v.due, v.since, v.created_at, v.uid) > (r.rank, r.due, r.since, r.created_at, r.uid))
    order by v.rank, v.due, v.since, v.created_at, v.uid
    limit %(limit)s)
select e.*, e.state::text as state, e.hold_state::text as hold_state, t.code as template, s.name, s.external_ref, p.since,
    r.rank as reached_rank, nullif(r.due, 'infinity') as reached_due, r.since as reached_since, r.created_at as reached_created, r.uid as reached_uid
from (select) one
left join reached r on true
left join page p on true
left join lateral (select e.* from tenure.execution e where e.uid = p.uid offset 0) e on true
left join lateral (select s.name, s.external_ref, s.template from tenure.subject s where s.uid = p.uid offset 0) s on true
left join lateral (select t.code from tenure.template t where t.uid = s.template offset 0) t on true
order by p.rank, p.due, p.since, p.created_at, p.uid
