-- The hash of one fact of a thread.
-- Primary key.
select f.hash from tenure.fact f where f.thread = %(thread)s and f.seq = %(seq)s
