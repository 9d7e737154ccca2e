-- Takes the first visible subjects of one queue for one worker: lease, record, fact and envelope in one go (S1 6.2).
-- Reads the index `claimable` from its start (or from the hint `after_*`, `live_after`) and locks what it takes; every join is a key look-up.
-- Their time is that after the last lock: not before another lease's end, which may have come while this waited for its worker.
with clock as materialized (select tenure.now() as now),
w as materialized (
    select uid, owner, worker_type, status, drain_requested, capabilities, site_scope, platform_scope, assay_scope, incarnation,
        max_concurrent_leases
    from tenure.worker where uid = %(worker)s and (tenant = %(tenant)s) is true for no key update),
q as materialized (
    select q.*, exists (
        select from tenure.queue former
        where former.tenant = q.tenant and former.queue_key = q.queue_key and former.retired_at is not null
            and not former.subject_template_codes <@ q.subject_template_codes) as took_over
    from tenure.queue q where q.tenant = %(tenant)s and q.queue_key = %(queue_key)s and q.retired_at is null),
gate as materialized (
    select q.uid as queue, q.tenant, q.queue_key, q.subject_template_codes, q.took_over, q.eligible_states, q.site_scope, q.platform_scope, q.assay_scope, w.uid as worker, w.owner,
        w.incarnation, clock.now, coalesce(%(ttl)s::int, q.lease_ttl_seconds) as ttl,
        told.data, row('lease.claimed', %(actor)s::text, 'RUNNING'::tenure.state, q.queue_key, null::text, null::text, null::text, null::bigint,
            %(trace_id)s::text, told.data)::text as content,
        least(%(limit)s::int, w.max_concurrent_leases - tenure.live_leases(w.uid, %(live_after)s, w.max_concurrent_leases)) as room,
        q.enabled and w.status = 'ONLINE' and not w.drain_requested
            and (not q.manual_only or w.worker_type = 'HUMAN_SESSION')
            and w.capabilities @> q.required_worker_capabilities
            and (q.site_scope = '{}' or w.site_scope && q.site_scope)
            and (q.platform_scope = '{}' or w.platform_scope && q.platform_scope)
            and (q.assay_scope = '{}' or w.assay_scope && q.assay_scope)
            and coalesce(%(incarnation)s::int = w.incarnation, true) as fits,
        not %(past_gate)s and exists (
            select from tenure.execution d
            where d.tenant = q.tenant and d.next_queue_key = q.queue_key and d.deferred and d.eligible_at <= clock.now offset 0) as due,
        not %(past_gate)s and exists (
            select from tenure.attempt a
            where a.queue = q.uid and a.lease_status = 'ACTIVE' and a.expires_at <= clock.now
            union all
            select from tenure.queue former, lateral (
                select from tenure.attempt a
                where a.queue = former.uid and a.lease_status = 'ACTIVE' and a.expires_at <= clock.now limit 1) a
            where former.tenant = q.tenant and former.queue_key = q.queue_key and former.retired_at is not null) as lapsed
    from q, w, clock, lateral (
        select jsonb_build_object('ttl', coalesce(%(ttl)s::int, q.lease_ttl_seconds), 'started', %(start)s::boolean)
            || case when w.incarnation = 1 then '{}'::jsonb else jsonb_build_object('incarnation', w.incarnation) end as data offset 0) told),
taken as materialized (
    select e.*, g.queue, g.worker, g.incarnation, g.ttl, nextval('tenure.uid') as lease, g.content,
        case when e.slots_total = 1 then g.data else g.data || jsonb_build_object('slot', e.slot) end as data,
        (case when not %(start)s then e.state when e.slots_free = 1 then 'RUNNING' when e.slots_total > 1 then 'READY' else e.state end)::tenure.state as after
    from gate g, lateral (
        select e.uid, e.tenant, e.state, e.revision, e.seq, e.head, e.attempt_count, e.next_queue_key, e.next_action_key,
            e.priority, e.due_at, e.eligible_at, e.created_at, e.slots_free, e.slots_total,
            case when e.slots_total = 1 then 1 else (
                select min(s) from generate_series(1, e.slots_total) s
                where s not in (
                    select a.slot from tenure.attempt a where a.subject = e.uid and a.shared and a.lease_status = 'ACTIVE'
                    union all (
                        -- Done in this round: requeueing, or the next queue, counts anew.
                        select a.slot from tenure.attempt a where a.subject = e.uid and a.shared and a.lease_status = 'COMPLETED'
                        order by a.end_revision desc limit e.slots_done))) end as slot
        from tenure.execution e
        where e.tenant = g.tenant and e.next_queue_key = g.queue_key and e.claimable
            and (-e.priority, coalesce(e.due_at, 'infinity'::timestamptz), e.eligible_at, e.created_at, e.uid)
                > (%(after_priority)s::int, %(after_due)s::timestamptz, %(after_eligible)s::timestamptz, %(after_created)s::timestamptz, %(after_uid)s::bigint)
            and e.eligible_at <= g.now and e.state = any (g.eligible_states)
            and (e.site is null or g.site_scope = '{}' or e.site = any (g.site_scope))
            and (e.platform is null or g.platform_scope = '{}' or e.platform = any (g.platform_scope))
            and (e.assay is null or g.assay_scope = '{}' or e.assay = any (g.assay_scope))
            and (not g.took_over or tenure.served(e.uid, g.subject_template_codes))
            and (e.slots_total = 1 or (
                select a.uid from tenure.attempt a
                where a.subject = e.uid and a.worker = g.worker and a.shared and a.lease_status in ('ACTIVE', 'COMPLETED') limit 1) is null)
            and (e.barred_workers is null or (g.worker = any (e.barred_workers) or g.owner = any (e.barred_principals)) is not true)
        order by -e.priority, coalesce(e.due_at, 'infinity'::timestamptz), e.eligible_at, e.created_at, e.uid
        limit case when g.fits and not g.due and not g.lapsed then greatest(g.room, 0) else 0 end
        for no key update of e skip locked) e),
moment as materialized (
    -- Read when all of `taken` is locked.
    select greatest(g.now, coalesce(nullif(current_setting('tenure.now', true), '')::timestamptz, clock_timestamp())) as now, t.last,
        tenure.tell_how_many(t.many) as told
    from (select max(lease) as last, count(*) as many from taken) t, gate g where t.last is not null),
hashed as materialized (
    select t.*, m.now, case when t.lease = m.last then m.now end as told_at, t.revision + (t.after <> t.state)::int as revision_after,
        case when t.slots_total = 1 and %(start)s
            then tenure.told_hash(t.head, t.uid, t.seq + 1, m.now, t.tenant, t.revision + (t.after <> t.state)::int, t.lease, t.worker, t.content)
            else tenure.fact_hash(t.head, t.uid, t.seq + 1, m.now, t.tenant, t.revision + (t.after <> t.state)::int, t.lease, t.worker,
                'lease.claimed', %(actor)s, t.after, t.next_queue_key, null, null, null, null, %(trace_id)s, t.data) end as hash
    from taken t cross join moment m),
told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, lease, worker, trace_id, data, hash)
    select uid, seq + 1, tenant, now, revision_after, after, 'lease.claimed', %(actor)s, next_queue_key, lease, worker, %(trace_id)s, data, hash
    from hashed),
leased as (
    insert into tenure.attempt (uid, tenant, subject, queue, worker, incarnation, attempt_number, ttl_seconds, start_revision, slot, shared,
        lease_status, record_status, start_state, claimed_at, expires_at, started_at, token_hash, claim_key, claim_hash, action_key)
    select lease, tenant, uid, queue, worker, incarnation, attempt_count + 1, ttl, revision, slot, slots_total > 1,
        'ACTIVE', 'STARTED', state, now, now + make_interval(secs => ttl), case when %(start)s then now end, %(token_hash)s, %(claim_key)s, %(claim_hash)s, next_action_key
    from hashed),
moved as (
    -- By key: what changed between snapshot and lock has a ctid that this snapshot cannot find.
    update tenure.execution e
    set state = h.after, revision = h.revision_after, seq = h.seq + 1, head = h.hash, slots_free = h.slots_free - 1, last_record = h.lease + 1
    from hashed h where e.uid = any (array[h.uid])),
told_of_slots as (
    -- Whoever looked at the same moment found it locked, and would not look again for a while.
    select pg_notify('tenure_work', t.tenant || ' ' || t.next_queue_key) from taken t where t.slots_free > 1 limit 1)
-- What holds for all of them is told with the last row alone, as its place in the queue is: reading a time costs whoever asked as much as ten numbers.
select case when h.told_at is not null or h.lease is null then g.fits and g.room > 0 end as allowed, case when h.lease is null then g.due end as due,
    case when h.lease is null then g.lapsed end as lapsed, h.told_at as now, case when h.told_at is not null then g.ttl end as ttl,
    h.lease, h.uid, h.attempt_count + 1 as attempt_number, case when h.after <> 'RUNNING' then h.after::text end as state,
    h.revision_after, h.seq + 1 as seq, h.slot, h.next_action_key, -h.priority as rank, case when h.told_at is not null then h.due_at end as due_at,
    case when h.told_at is not null then h.eligible_at end as eligible_at, case when h.told_at is not null then h.created_at end as created_at,
    s.template, s.name, s.external_ref, s.properties::text, s.payload_ref, s.correlation_id
from gate g
left join told_of_slots on true
left join hashed h on true
left join lateral (select s.* from tenure.subject s where s.uid = h.uid offset 0) s on true
order by h.lease
