-- Locks schedules that have fallen due and that nobody else is looking at, the longest overdue first.
-- Index `schedule_due`.
select s.* from tenure.schedule s
where s.next_at <= tenure.now() and s.tenant = %(tenant)s order by s.next_at limit %(limit)s for no key update skip locked
