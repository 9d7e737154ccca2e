-- In how many seconds the first deferred subject of these queues falls due, or the first lease lapses.
-- The first entry of the indexes `deferred` and `lease_expiry` for each queue.
select extract(epoch from min(next.at) - tenure.now())::float8
from tenure.queue q,
lateral (
    (select e.eligible_at as at from tenure.execution e
        where e.tenant = q.tenant and e.next_queue_key = q.queue_key and e.deferred order by e.eligible_at limit 1)
    union all
    (select a.expires_at from tenure.attempt a
        where a.queue = q.uid and a.lease_status = 'ACTIVE' order by a.expires_at limit 1)) next
where q.tenant = %(tenant)s and q.queue_key = any (%(queue_keys)s) and q.retired_at is null
