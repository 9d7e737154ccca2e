-- Locks runs, the youngest first: children before parents, so that two sets cannot wait for each other.
-- Primary key look-ups.
select r.uid from tenure.run r
where r.uid = any (%(uids)s) and r.tenant = %(tenant)s order by r.uid desc for no key update
