-- Workers that are not retired, or those named.
select w.*, w.worker_type::text as worker_type, w.status::text as status from tenure.worker w
where w.tenant = %(tenant)s and (%(uids)s::bigint[] is not null or w.status <> 'RETIRED') and (%(uids)s::bigint[] is null or w.uid = any (%(uids)s))
order by w.worker_key
