-- In how many seconds something of a tenant's runs falls due.
-- Index `run_wake`, which nothing else may take the place of.
select extract(epoch from r.wake_at - tenure.now())::float8 as seconds from tenure.run r
where r.wake_at is not null and r.tenant + 0 = %(tenant)s order by r.wake_at limit 1
