-- Locks the envelopes of these subjects, always in order of uid, so that two sets cannot wait for each other.
-- Primary key look-ups.
select e.uid from tenure.execution e
where e.uid = any (%(uids)s) and e.tenant = %(tenant)s order by e.uid for no key update
