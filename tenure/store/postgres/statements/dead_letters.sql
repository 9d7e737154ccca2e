-- Dead letters of a tenant, newest first, below a uid.
-- Open ones by the index `dead_letter_open`, all by the primary key backwards.
select d.*, d.resolution_state::text as resolution_state, q.queue_key, t.code as template, s.name, a.error_code, a.error_message
from (
    select d.* from tenure.dead_letter d
    where d.tenant = %(tenant)s and d.uid < %(before)s::bigint and (not %(open_only)s or d.resolution_state = 'OPEN')
    order by d.uid desc limit %(limit)s) d
left join tenure.queue q on q.uid = d.queue
join tenure.subject s on s.uid = d.subject
join tenure.template t on t.uid = s.template
left join tenure.attempt a on a.uid = d.attempt
order by d.uid desc
