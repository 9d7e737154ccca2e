-- Two ACTIVE leases of one slot of a subject, which the index `one_live_lease` refuses while it stands.
-- Reads what is live.
select a.subject as thread, array_agg(a.uid order by a.uid) as leases, a.slot
from tenure.attempt a
where a.lease_status = 'ACTIVE' and (%(tenant)s::bigint is null or a.tenant = %(tenant)s)
group by a.subject, a.slot having count(*) > 1
order by a.subject limit %(limit)s
