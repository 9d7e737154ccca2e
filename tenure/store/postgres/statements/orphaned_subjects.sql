-- Subjects whose envelope is gone, and envelopes and first facts that have no subject or other owner.
-- Passes over the three tables side by side.
select o.thread, o.lacks
from (
    select s.uid as thread, 'envelope' as lacks from tenure.subject s
    where (%(tenant)s::bigint is null or s.tenant = %(tenant)s) and not exists (select from tenure.execution e where e.uid = s.uid)
    union all
    select e.uid, 'subject' from tenure.execution e
    where (%(tenant)s::bigint is null or e.tenant = %(tenant)s) and not exists (select from tenure.subject s where s.uid = e.uid)
    union all
    select f.thread, 'owner' from tenure.fact f
    where f.seq = 1 and (%(tenant)s::bigint is null or f.tenant = %(tenant)s)
        and not exists (select from tenure.execution e where e.uid = f.thread)
        and not exists (select from tenure.subject s where s.uid = f.thread) and tenure.thread_length(f.thread) = 0) o
order by o.thread limit %(limit)s
