-- ACTIVE leases past their expiry in one queue, oldest first.
-- Reads the index `lease_expiry` from its start.
select a.uid
from tenure.queue q, lateral (
    select a.uid, a.expires_at from tenure.attempt a
    where a.queue = q.uid and a.lease_status = 'ACTIVE' and a.expires_at <= tenure.now()
    order by a.expires_at limit %(limit)s) a
where q.tenant = %(tenant)s and (%(queue_key)s::text is null or q.queue_key = %(queue_key)s)
order by a.expires_at, a.uid
limit %(limit)s
