-- How many ACTIVE leases each worker of a tenant holds.
-- Index `worker_live`.
select w.uid as worker, held.live
from tenure.worker w
cross join lateral (
    select count(*) as live from tenure.attempt a where a.worker = w.uid and a.lease_status = 'ACTIVE') held
where w.tenant = %(tenant)s and held.live > 0
