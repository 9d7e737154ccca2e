-- Of these subjects those of a tenant that fit, newest first, as lists show them.
-- Primary key look-ups.
select e.*, e.state::text as state, e.hold_state::text as hold_state, t.code as template, s.name, s.external_ref, s.correlation_id
from unnest(%(uids)s::bigint[]) as wanted(uid)
cross join lateral (select e.* from tenure.execution e where e.uid = wanted.uid offset 0) e
cross join lateral (
    select s.name, s.external_ref, s.correlation_id, s.template from tenure.subject s where s.uid = wanted.uid offset 0) s
cross join lateral (select t.code from tenure.template t where t.uid = s.template offset 0) t
where e.tenant = %(tenant)s
    and (%(states)s::text[] is null or e.state::text = any (%(states)s))
    and (%(queue_key)s::text is null or e.next_queue_key = %(queue_key)s)
    and (%(name)s::text is null or left(s.name, length(%(name)s)) = %(name)s)
    and (%(external_ref)s::text is null or s.external_ref = %(external_ref)s)
    and (%(correlation_id)s::text is null or s.correlation_id = %(correlation_id)s)
order by e.uid desc limit %(limit)s
