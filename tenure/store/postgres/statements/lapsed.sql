-- ACTIVE leases past their expiry in one queue or in all, oldest first.
-- Reads the index `lease_expiry` from its start; two branches, of which one is never executed, because `or` would defeat the index.
select a.uid
from (
    select q.uid from tenure.queue q where q.tenant = %(tenant)s and q.queue_key = %(queue_key)s
    union all
    select q.uid from tenure.queue q where %(queue_key)s::text is null and q.tenant = %(tenant)s) q,
lateral (
    select a.uid, a.expires_at from tenure.attempt a
    where a.queue = q.uid and a.lease_status = 'ACTIVE' and a.expires_at <= tenure.now()
    order by a.expires_at limit %(limit)s) a
order by a.expires_at, a.uid
limit %(limit)s
