-- EXPIRED leases of a tenant, newest first, below a uid.
-- Index `attempt_unhappy`: only what expired is read.
select a.*, a.lease_status::text as lease_status, a.record_status::text as record_status, a.start_state::text as start_state,
    a.end_state::text as end_state, q.queue_key
from tenure.queue q
cross join lateral (
    select a.* from tenure.attempt a
    where a.queue = q.uid and a.record_status = 'EXPIRED' and a.lease_status = 'EXPIRED' and a.uid < %(before)s::bigint
        and (%(worker)s::bigint is null or a.worker = %(worker)s) offset 0) a
where q.tenant = %(tenant)s and (%(queue_key)s::text is null or q.queue_key = %(queue_key)s)
order by a.uid desc limit %(limit)s
