-- The newest sample of each of these queues that is no older than so many seconds, in the order asked for.
-- The last entry of the primary key for each queue.
select s.*
from unnest(%(queue_keys)s::text[]) with ordinality as k(queue_key, ordinal)
join tenure.queue q on q.tenant = %(tenant)s and q.queue_key = k.queue_key and q.retired_at is null
cross join (select tenure.now() as now) clock
cross join lateral (
    select s.* from tenure.queue_sample s
    where s.tenant = q.tenant and s.queue_key = q.queue_key and s.at <= clock.now
        and s.at >= greatest(q.created_at, clock.now - make_interval(secs => %(max_age)s))
    order by s.at desc limit 1) s
order by k.ordinal
