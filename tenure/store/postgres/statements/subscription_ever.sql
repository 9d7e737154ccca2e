-- One subscription, in use or removed.
-- Primary key.
select s.* from tenure.subscription s where s.uid = %(uid)s and s.tenant = %(tenant)s
