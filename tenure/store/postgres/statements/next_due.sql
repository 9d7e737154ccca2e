-- In how many seconds the first deferred subject of these queues falls due, or the first lease lapses.
-- By `one_active_queue` one queue for each key; of each the first entry of the indexes `deferred` and `lease_expiry`.
select extract(epoch from min(next.at) - tenure.now())::float8
from unnest(%(queue_keys)s::text[]) as given(queue_key),
lateral (
    select queue.uid, queue.tenant, queue.queue_key from tenure.queue queue
    where queue.tenant = %(tenant)s and queue.queue_key = given.queue_key and queue.retired_at is null limit 1) q,
lateral (
    (select e.eligible_at as at from tenure.execution e
        where e.tenant = q.tenant and e.next_queue_key = q.queue_key and e.deferred order by e.eligible_at limit 1)
    union all
    (select a.expires_at from tenure.attempt a
        where a.queue = q.uid and a.lease_status = 'ACTIVE' order by a.expires_at limit 1)) next
