-- When the oldest event was told that a subscription has not sent yet, looking at so many positions behind its cursor, and
-- at the threads that wait.
-- Index `fact_position`, from the cursor on; `fact_pkey` and the key of `parked_event`.
select least(
    (select f.at from tenure.fact f
        where f.position > c.position and f.position <= c.position + %(stride)s and (f.tenant = s.tenant) is true
            and tenure.wanted(s.uid, w.types, w.queues, f.thread, f.type, f.queue_key)
        order by f.position limit 1),
    (select min(f.at) from tenure.parked_event p join tenure.fact f on f.position = p.position where p.subscription = s.uid)) as at
from tenure.subscription s
join tenure.worker_cursor c on c.subscription = s.uid
cross join lateral (select tenure.wanted_types(s.spec) as types, tenure.wanted_queues(s.spec) as queues offset 0) w
where s.uid = %(uid)s and s.tenant = %(tenant)s
