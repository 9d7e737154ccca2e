-- The same, locked.
-- Primary key (`is true` keeps the index that begins with the tenant away); where only the key is known, after a look-up of the uid by it.
select w.*, w.worker_type::text as worker_type, w.status::text as status from tenure.worker w
where (w.tenant = %(tenant)s) is true and w.uid = coalesce(%(uid)s::bigint, (
    select k.uid from tenure.worker k where k.tenant = %(tenant)s and k.worker_key = %(key)s))
for no key update
