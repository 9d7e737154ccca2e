-- All subscriptions that deliver, each with its cursor, who leads it, and when the first thread that waits is due.
-- There are few subscriptions; the rest by key.
select s.uid, s.tenant, t.key as tenant_key, s.name, s.spec, s.seq, c.position, c.fence, c.failures, c.failing_since, c.failing_with, c.resume_at,
    c.succeeded_at, c.moved_at, l.holder, l.token, l.expires_at, p.parked, p.due_at, p.given_up, tenure.now() as now,
    tenure.wanted_types(s.spec) as types, tenure.wanted_queues(s.spec) as queues
from tenure.subscription s
join tenure.tenant t on t.uid = s.tenant
join tenure.worker_cursor c on c.subscription = s.uid
left join tenure.runtime_lease l on l.name = 'relay/' || s.uid
cross join lateral (
    select count(*) filter (where not e.alone) as parked, min(e.next_attempt_at) as due_at,
        count(e.give_up_seq) > 0 as given_up
    from tenure.parked_event e where e.subscription = s.uid) p
where s.enabled and s.retired_at is null and (%(tenant)s::bigint is null or s.tenant = %(tenant)s::bigint)
order by s.uid
