-- Subscriptions that are in use, by name, each with how far it has come.
-- Index `subscription_name`; the rest by key.
select s.*, c.position, c.delivered, c.failed, c.failures, c.failing_since, c.failing_with, c.resume_at, c.succeeded_at, c.moved_at,
    l.holder, l.expires_at as held_until,
    (select count(*) from tenure.parked_event p where p.subscription = s.uid and not p.alone) as parked,
    (select count(*) from tenure.event_dead_letter d where d.subscription = s.uid and d.status = 'OPEN') as open_dead_letters,
    (select array_agg(k.number order by k.number) from tenure.signing_key k where k.subscription = s.uid and k.dropped_at is null) as keys,
    tenure.now() as now
from tenure.subscription s
join tenure.worker_cursor c on c.subscription = s.uid
left join tenure.runtime_lease l on l.name = 'relay/' || s.uid and l.expires_at > tenure.now()
where s.tenant = %(tenant)s and s.retired_at is null and (%(name)s::text is null or s.name = %(name)s::text)
order by s.name
