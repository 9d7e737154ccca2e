-- Holds of a tenant, newest first, below a uid.
-- Active ones by the index `hold_active`, all by the primary key backwards.
select h.*, h.status::text as status, q.queue_key, s.name
from (
    select h.* from tenure.hold h
    where h.tenant = %(tenant)s and h.uid < %(before)s::bigint and (not %(active_only)s or h.status = 'ACTIVE')
    order by h.uid desc limit %(limit)s) h
left join tenure.queue q on q.uid = h.queue
join tenure.subject s on s.uid = h.subject
order by h.uid desc
