-- Schedules of a tenant, or one by its name.
-- Unique index on tenant and name.
select s.* from tenure.schedule s
where s.tenant = %(tenant)s and (%(name)s::text is null or s.name = %(name)s)
order by s.name
