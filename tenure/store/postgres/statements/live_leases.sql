-- How many ACTIVE leases a worker holds.
-- Index `worker_live`.
select count(*) as live from tenure.attempt a where a.worker = %(worker)s and a.lease_status = 'ACTIVE'
