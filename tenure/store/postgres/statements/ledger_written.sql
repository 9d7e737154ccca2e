-- The highest position of the ledger that was drawn so far.
-- Reads the sequence alone.
select coalesce(pg_sequence_last_value('tenure.fact_position_seq'), 0) as position
