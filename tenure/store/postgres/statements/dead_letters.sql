-- Dead letters of a tenant, newest first, below a uid, of one queue or of all.
-- By the index `dead_letter_open`, `dead_letter_queue` or the primary key backwards; of three branches one is executed.
select d.*, d.resolution_state::text as resolution_state, q.queue_key, t.code as template, s.name, a.error_code, a.error_message
from (
    (select d.* from tenure.dead_letter d
    where %(queue_key)s::text is null and %(open_only)s and d.tenant = %(tenant)s and d.uid < %(before)s::bigint
        and d.resolution_state = 'OPEN'
    order by d.uid desc limit %(limit)s)
    union all
    (select d.* from tenure.dead_letter d
    where %(queue_key)s::text is null and not %(open_only)s and d.tenant = %(tenant)s and d.uid < %(before)s::bigint
    order by d.uid desc limit %(limit)s)
    union all
    (select d.* from tenure.queue q
    cross join lateral (
        select d.* from tenure.dead_letter d
        where d.queue = q.uid and d.uid < %(before)s::bigint and (not %(open_only)s or d.resolution_state = 'OPEN')
        order by d.uid desc limit %(limit)s) d
    where q.tenant = %(tenant)s and q.queue_key = %(queue_key)s
    order by d.uid desc limit %(limit)s)) d
left join tenure.queue q on q.uid = d.queue
join tenure.subject s on s.uid = d.subject
join tenure.template t on t.uid = s.template
left join tenure.attempt a on a.uid = d.attempt
order by d.uid desc
