-- Whether it is up to this transaction to sample the queues of a tenant: one at a time, and nobody waits.
-- An advisory lock until the transaction ends; no table is read, so that what follows sees what the holder before it wrote.
select pg_try_advisory_xact_lock(hashtextextended('tenure.queue_sample', %(tenant)s)) as mine
