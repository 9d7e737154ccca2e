-- Locks those of these subjects that nobody else has locked, in order of uid, never waiting.
-- Primary key look-ups.
select e.uid from tenure.execution e
where e.uid = any (%(uids)s) and e.tenant = %(tenant)s order by e.uid for no key update skip locked
