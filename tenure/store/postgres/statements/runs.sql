-- Runs as they stand.
-- Primary key look-ups.
select r.* from tenure.run r where r.uid = any (%(uids)s) and (%(tenant)s::bigint is null or r.tenant = %(tenant)s)
