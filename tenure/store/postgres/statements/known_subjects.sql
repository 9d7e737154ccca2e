-- Which of these are subjects of the tenant.
-- Primary key look-ups.
select s.uid from tenure.subject s where s.uid = any (%(uids)s::bigint[]) and s.tenant = %(tenant)s
