-- Who did these subjects: the workers whose attempts succeeded or failed, with their owners. Not who gave up or was too late.
-- Each thread by its key, each worker by its key.
select distinct f.worker, w.owner
from unnest(%(subjects)s::bigint[]) as wanted(uid)
cross join lateral (
    select f.worker, f.tenant from tenure.fact f
    where f.thread = wanted.uid and f.type in ('execution.completed', 'execution.failed') and f.worker is not null offset 0) f
left join lateral (select w.owner from tenure.worker w where w.uid = f.worker offset 0) w on true
where (f.tenant = %(tenant)s) is true
