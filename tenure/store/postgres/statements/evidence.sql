-- Subjects as their rows have them, whole, with all their facts; data as text, which hashing needs to the letter.
-- Key look-ups: attempts are found through the facts that tell of them, live ones by `one_live_lease` too.
select e.*, e.state::text as state, e.hold_state::text as hold_state, t.code as template, facts.facts, attempts.attempts,
    (select coalesce(jsonb_agg(to_jsonb(h) || jsonb_build_object('queue_key', q.queue_key) order by h.uid), '[]')
        from tenure.hold h left join tenure.queue q on q.uid = h.queue where h.subject = e.uid) as holds,
    (select coalesce(jsonb_agg(to_jsonb(d) || jsonb_build_object('queue_key', q.queue_key) order by d.uid), '[]')
        from tenure.dead_letter d left join tenure.queue q on q.uid = d.queue where d.subject = e.uid) as dead_letters,
    (select coalesce(jsonb_agg(jsonb_build_array(l.parent, l.child)), '[]')
        from tenure.link l
        where l.parent = any (attempts.records) and l.relation = 'execution_record_output') as outputs
from unnest(%(uids)s::bigint[]) with ordinality as wanted(uid, ordinal)
cross join lateral (select e.* from tenure.execution e where e.uid = wanted.uid offset 0) e
left join lateral (select s.template from tenure.subject s where s.uid = e.uid offset 0) s on true
left join lateral (select t.code from tenure.template t where t.uid = s.template offset 0) t on true
cross join lateral (
    select coalesce(jsonb_agg(to_jsonb(f) || jsonb_build_object('data', f.data::text) order by f.seq), '[]') as facts,
        array_agg(f.lease) filter (where f.lease is not null) as leases,
        array_agg((f.data ->> 'record')::bigint - 1) filter (where f.data ->> 'record' ~ '^[0-9]{1,18}$') as reconciled
    from tenure.fact f where f.thread = e.uid) facts
cross join lateral (
    select coalesce(jsonb_agg((to_jsonb(a) - %(without)s::text[]) || jsonb_build_object('queue_key', q.queue_key) order by a.uid), '[]') as attempts,
        array_agg(a.uid + 1) as records
    from (
        select unnest(facts.leases) as uid union select unnest(facts.reconciled)
        union select x.uid from tenure.attempt x where x.subject = e.uid and x.lease_status = 'ACTIVE') told
    cross join lateral (select a.* from tenure.attempt a where a.uid = told.uid offset 0) a
    left join lateral (select q.queue_key from tenure.queue q where q.uid = a.queue offset 0) q on true) attempts
where %(tenant)s::bigint is null or e.tenant = %(tenant)s
order by wanted.ordinal
