-- Workers that are not retired, or those named.
-- Primary key look-ups of those named; two branches, of which one is never executed, because `or` would defeat the index.
select w.*, w.worker_type::text as worker_type, w.status::text as status
from (
    select w.* from tenure.worker w where w.uid = any (%(uids)s::bigint[]) and (w.tenant = %(tenant)s) is true
    union all
    select w.* from tenure.worker w where %(uids)s::bigint[] is null and w.tenant = %(tenant)s and w.status <> 'RETIRED') w
order by w.worker_key
