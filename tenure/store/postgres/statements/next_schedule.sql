-- In how many seconds a schedule of a tenant falls due.
-- Index `schedule_due`.
select extract(epoch from s.next_at - tenure.now())::float8 as seconds from tenure.schedule s
where s.next_at is not null and s.tenant = %(tenant)s order by s.next_at limit 1
