-- Runs in order of uid.
-- Primary key.
select r.uid from tenure.run r where r.uid > %(after)s order by r.uid limit %(limit)s
