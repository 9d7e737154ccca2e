-- Holds of a tenant, newest first, below a uid, of one queue or of all.
-- By the index `hold_active`, `hold_queue` or the primary key backwards; of three branches one is executed.
select h.*, h.status::text as status, q.queue_key, s.name
from (
    (select h.* from tenure.hold h
    where %(queue_key)s::text is null and %(active_only)s and h.tenant = %(tenant)s and h.uid < %(before)s::bigint
        and h.status = 'ACTIVE'
    order by h.uid desc limit %(limit)s)
    union all
    (select h.* from tenure.hold h
    where %(queue_key)s::text is null and not %(active_only)s and h.tenant = %(tenant)s and h.uid < %(before)s::bigint
    order by h.uid desc limit %(limit)s)
    union all
    (select h.* from tenure.queue q
    cross join lateral (
        select h.* from tenure.hold h
        where h.queue = q.uid and h.uid < %(before)s::bigint and (not %(active_only)s or h.status = 'ACTIVE')
        order by h.uid desc limit %(limit)s) h
    where q.tenant = %(tenant)s and q.queue_key = %(queue_key)s
    order by h.uid desc limit %(limit)s)) h
left join tenure.queue q on q.uid = h.queue
join tenure.subject s on s.uid = h.subject
order by h.uid desc
