-- What ties subjects to other systems: their correlation ids and the traces in which they were submitted.
-- Primary key look-ups.
select s.uid, s.correlation_id, f.trace_id
from tenure.subject s, lateral (select f.trace_id from tenure.fact f where f.thread = s.uid and f.seq = 1 offset 0) f
where s.uid = any (%(uids)s::bigint[]) and s.tenant = %(tenant)s and (s.correlation_id is not null or f.trace_id is not null)
