-- ACTIVE leases of a tenant, newest first, below a uid: of a worker, from a queue, or all.
-- Index `worker_live`: of each worker its newest, so many at most; then the newest of these by key.
with newest as materialized (
    select held.uid
    from tenure.worker w
    cross join lateral (
        select a.uid from tenure.attempt a
        where a.worker = w.uid and a.lease_status = 'ACTIVE' and a.uid < %(before)s::bigint
            and (%(queue_key)s::text is null or a.queue = any (array(
                select q.uid from tenure.queue q where q.tenant = %(tenant)s and q.queue_key = %(queue_key)s)))
        order by a.uid desc limit %(limit)s offset 0) held
    where w.tenant = %(tenant)s and (%(worker)s::bigint is null or w.uid = %(worker)s)
    order by held.uid desc limit %(limit)s)
select a.*, a.lease_status::text as lease_status, a.record_status::text as record_status, a.start_state::text as start_state,
    a.end_state::text as end_state, q.queue_key
from newest n
cross join lateral (select a.* from tenure.attempt a where a.uid = n.uid offset 0) a
cross join lateral (select q.queue_key from tenure.queue q where q.uid = a.queue offset 0) q
order by n.uid desc
