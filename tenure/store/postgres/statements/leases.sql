-- Leases of a tenant, newest first, below a uid, of one status that has ended or of any.
-- Reads the primary key backwards.
select a.*, a.lease_status::text as lease_status, a.record_status::text as record_status, a.start_state::text as start_state,
    a.end_state::text as end_state, q.queue_key
from (
    select a.* from tenure.attempt a
    where a.tenant = %(tenant)s and a.uid < %(before)s::bigint and a.lease_status is not null
        and (%(status)s::text is null or a.lease_status = %(status)s::text::tenure.lease_status)
        and (%(worker)s::bigint is null or a.worker = %(worker)s)
        and (%(queue_key)s::text is null or a.queue = any (array(
            select q.uid from tenure.queue q where q.tenant = %(tenant)s and q.queue_key = %(queue_key)s)))
    order by a.uid desc limit %(limit)s) a
join tenure.queue q on q.uid = a.queue
order by a.uid desc
