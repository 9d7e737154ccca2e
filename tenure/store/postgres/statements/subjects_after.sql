-- Subjects in order of uid, all or a sample drawn by a hash of the uid, the same every time.
-- Walks the primary key.
select e.uid from tenure.execution e
where e.uid > %(after)s and (%(tenant)s::bigint is null or e.tenant = %(tenant)s)
    and (%(sample)s::float8 is null or (hashint8extended(e.uid, 0) & 1073741823) < %(sample)s * 1073741824)
order by e.uid limit %(limit)s
