-- The live leases of a worker under one token, in the order in which they were taken, and how long ago that was (seconds).
-- Index `worker_live`.
select a.uid, extract(epoch from tenure.now() - a.claimed_at)::float8 as age
from tenure.attempt a
where (a.worker, a.uid) > (%(worker)s, %(after)s) and a.worker = %(worker)s and a.lease_status = 'ACTIVE' and a.token_hash = %(token_hash)s
order by a.worker, a.uid
