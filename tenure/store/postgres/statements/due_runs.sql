-- Runs of which something has fallen due and which nobody has locked, the longest overdue first; never waits.
-- Index `run_wake`, which nothing else may take the place of.
select r.uid from tenure.run r
where r.wake_at <= tenure.now() and r.tenant + 0 = %(tenant)s order by r.wake_at limit %(limit)s
for no key update skip locked
