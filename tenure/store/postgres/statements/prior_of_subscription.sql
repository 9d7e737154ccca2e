-- The fact that carries this key, of any subscription that has or had this name.
-- Index `subscription_of_name`; index `fact_idempotency`, one look-up for each type.
select f.*, f.state::text as state from tenure.subscription s
cross join lateral (
    select g.* from tenure.fact g where g.thread = s.uid and g.type = any (%(types)s) and g.idempotency_key = %(key)s offset 0) f
where s.tenant = %(tenant)s and s.name = %(name)s
order by f.position desc limit 1
