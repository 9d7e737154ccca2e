-- The same, locked.
-- Primary key (`is true` keeps the index that begins with the tenant away); where only the key is known, after a look-up of the uid by it. A `coalesce` would not be trusted before the wall's own condition.
select w.*, w.worker_type::text as worker_type, w.status::text as status from tenure.worker w
where (w.tenant = %(tenant)s) is true and w.uid = case when %(uid)s::bigint is not null then %(uid)s::bigint else (
    select k.uid from tenure.worker k where k.tenant = %(tenant)s and k.worker_key = %(key)s) end
for no key update
