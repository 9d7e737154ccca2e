-- The facts of a thread in order, from a seq on.
-- Primary key.
select f.*, f.state::text as state from tenure.fact f
where f.thread = %(thread)s and f.seq > %(after_seq)s order by f.seq limit %(limit)s
