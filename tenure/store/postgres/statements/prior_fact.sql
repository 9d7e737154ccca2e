-- The fact of a thread that carries this key.
-- Index `fact_idempotency`.
select f.*, f.state::text as state from tenure.fact f
where f.thread = %(thread)s and f.type = any (%(types)s) and f.idempotency_key = %(key)s limit 1
