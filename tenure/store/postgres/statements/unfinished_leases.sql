-- Leases of a tenant that were released, expired, abandoned or canceled, newest first, below a uid.
-- Index `lease_unfinished` from its start (in `ended_leases`): nothing of what was completed is read.
select a.*, a.lease_status::text as lease_status, a.record_status::text as record_status, a.start_state::text as start_state,
    a.end_state::text as end_state, q.queue_key
from tenure.ended_leases(
    %(tenant)s, %(status)s::text::tenure.lease_status, %(before)s::bigint, %(worker)s::bigint,
    case when %(queue_key)s::text is not null then array(
        select q.uid from tenure.queue q where q.tenant = %(tenant)s and q.queue_key = %(queue_key)s) end, %(limit)s) a
join tenure.queue q on q.uid = a.queue
order by a.uid desc
