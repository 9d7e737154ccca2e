-- Subjects whose data is not what their first fact proves, and plain completions whose result is not what theirs proves.
-- Key and prefix look-ups.
select wanted.uid as thread, 'inputs_differ' as kind, null::bigint as lease
from unnest(%(uids)s::bigint[]) as wanted(uid)
cross join lateral (select s.* from tenure.subject s where s.uid = wanted.uid offset 0) s
cross join lateral (select t.code from tenure.template t where t.uid = s.template offset 0) t
cross join lateral (select f.* from tenure.fact f where f.thread = wanted.uid and f.seq = 1 offset 0) f
where f.payload_hash is distinct from tenure.inputs_hash(t.code, f.queue_key, s.properties, s.name, s.external_ref, s.payload_ref,
    s.correlation_id, f.data, f.state <> 'PENDING', (
        select coalesce(jsonb_agg(l.parent order by l.parent), '[]')
        from tenure.link l where l.child = wanted.uid and l.relation = 'parent'))
union all
select wanted.uid, 'result_differs', f.lease
from unnest(%(uids)s::bigint[]) as wanted(uid)
cross join lateral (
    select f.* from tenure.fact f where f.thread = wanted.uid and f.type = 'execution.completed' and f.data is null offset 0) f
cross join lateral (select a.* from tenure.attempt a where a.uid = f.lease offset 0) a
where f.state = 'COMPLETED' and f.payload_hash is distinct from sha256(convert_to((
    case when a.result is null then '{}'::jsonb else jsonb_build_object('result', a.result) end
    || case when a.result_ref is null then '{}'::jsonb else jsonb_build_object('result_ref', a.result_ref) end)::text, 'UTF8'))
