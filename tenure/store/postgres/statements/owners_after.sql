-- Owners of the threads that are not a subject's, in order of uid, with length and last hash.
-- Primary keys; queues, workers, principals and tenants are few.
select o.uid, o.seq, o.head
from (
    select uid, tenant, seq, head from tenure.queue
    union all select uid, tenant, seq, head from tenure.worker
    union all select uid, tenant, seq, head from tenure.principal
    union all select uid, uid, seq, head from tenure.tenant
    union all select uid, tenant, seq, head from tenure.schedule
    union all select uid, tenant, seq, head from tenure.subscription
    union all select uid, tenant, seq, head from tenure.management_node
    union all select uid, tenant, seq, head from tenure.workflow) o
where o.uid > %(after)s and (%(tenant)s::bigint is null or o.tenant = %(tenant)s)
order by o.uid limit %(limit)s
