-- The same, locked.
select w.*, w.worker_type::text as worker_type, w.status::text as status from tenure.worker w
where w.tenant = %(tenant)s and case when %(uid)s::bigint is not null then w.uid = %(uid)s else w.worker_key = %(key)s end
for no key update
