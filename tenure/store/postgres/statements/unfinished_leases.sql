-- Leases of a tenant that were released, expired, abandoned or canceled, newest first, below a uid.
-- Index `lease_unfinished` from its start: nothing of what was completed is read.
select a.*, a.lease_status::text as lease_status, a.record_status::text as record_status, a.start_state::text as start_state,
    a.end_state::text as end_state, q.queue_key
from (
    select a.* from tenure.attempt a
    where a.tenant = %(tenant)s and a.lease_status in ('RELEASED', 'EXPIRED', 'ABANDONED', 'CANCELED')
        and a.lease_status = %(status)s::text::tenure.lease_status and -a.uid > -(%(before)s::bigint)
        and (%(worker)s::bigint is null or a.worker = %(worker)s)
        and (%(queue_key)s::text is null or a.queue = any (array(
            select q.uid from tenure.queue q where q.tenant = %(tenant)s and q.queue_key = %(queue_key)s)))
    order by -a.uid limit %(limit)s) a
join tenure.queue q on q.uid = a.queue
order by a.uid desc
