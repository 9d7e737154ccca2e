-- Results of attempts, by record.
-- Primary key look-ups.
select a.uid + 1 as record, a.result, a.result_ref from tenure.attempt a where a.uid = any (%(attempts)s)
