-- Runs of which something has fallen due, the longest overdue first.
-- Index `run_wake`.
select r.uid from tenure.run r
where r.wake_at <= tenure.now() and r.tenant = %(tenant)s order by r.wake_at limit %(limit)s
