-- What facts of runs refer to.
-- Primary key look-ups.
select p.uid, p.data from tenure.run_payload p where p.uid = any (%(uids)s)
