-- Attempts that no fact tells of.
-- One pass over the attempts, each with a prefix look-up in its subject's thread.
select a.subject as thread, a.uid as attempt
from tenure.attempt a
where (%(tenant)s::bigint is null or a.tenant = %(tenant)s) and not exists (
    select from tenure.fact f
    where f.thread = a.subject and (
        (a.lease_status is not null and f.lease = a.uid and f.type = 'lease.claimed')
        or (a.lease_status is null and f.type = 'subject.requeued' and f.data ->> 'record' = (a.uid + 1)::text)))
order by a.uid limit %(limit)s
