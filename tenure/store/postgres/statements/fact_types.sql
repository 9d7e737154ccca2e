-- The fact types that are registered.
-- Reads a small table.
select t.type, t.safe_fields, t.event_id_key from tenure.fact_type t
