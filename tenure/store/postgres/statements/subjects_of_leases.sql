-- Which subjects these leases (attempts) are of.
-- Primary key look-ups.
select a.uid, a.subject from tenure.attempt a where a.uid = any (%(uids)s) and a.tenant = %(tenant)s
