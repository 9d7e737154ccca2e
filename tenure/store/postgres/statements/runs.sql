-- Runs as they stand.
-- Primary key look-ups.
select r.* from tenure.run r where r.uid = any (%(uids)s) and r.tenant = %(tenant)s
