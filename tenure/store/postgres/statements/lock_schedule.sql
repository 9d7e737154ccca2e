-- One schedule, locked.
-- Unique index on tenant and name.
select s.* from tenure.schedule s where s.tenant = %(tenant)s and s.name = %(name)s for no key update
