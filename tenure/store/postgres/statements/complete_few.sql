-- Completes a few: the same as `complete_plain`, by a function that keeps its plans.
-- Key look-ups.
select * from tenure.complete_few(%(tenant)s, %(worker)s, %(actor)s, %(trace_id)s, %(leases)s::bigint[], %(token_hashes)s, %(payload_hashes)s,
    %(results)s::jsonb[], %(result_refs)s::text[])
