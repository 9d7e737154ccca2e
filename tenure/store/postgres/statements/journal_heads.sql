-- Length and last hash of runs.
-- Primary key look-ups.
select r.uid, r.seq, r.head from tenure.run r where r.uid = any (%(uids)s)
