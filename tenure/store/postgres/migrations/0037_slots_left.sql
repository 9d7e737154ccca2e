-- A claim of one slot of a subject tells of those that are left.

-- statements/claim.sql for a few. Where nothing waits it locks nothing and writes nothing.
create or replace function claim_few(
    for_tenant bigint, for_worker bigint, of_incarnation int, for_queue text, at_most int, starts boolean, for_seconds int, token bytea,
    by_actor text, trace text, key text, key_hash bytea, past_gate boolean, after_priority int, after_due timestamptz,
    after_eligible timestamptz, after_created timestamptz, after_uid bigint, live_after bigint)
returns table (
    allowed boolean, due boolean, lapsed boolean, at timestamptz, ttl int, lease bigint, subject bigint, attempt_number int, state text,
    revision int, seq int, slot int, next_action_key text, rank int, due_at timestamptz, eligible_at timestamptz, created_at timestamptz,
    template bigint, name text, external_ref text, properties text, payload_ref text, correlation_id text)
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    q tenure.queue;
    w tenure.worker;
    e record;
    took_over boolean;
    room int;
    after tenure.state;
    told_data jsonb;
    row_data jsonb;
    chained bytea;
    newly int;
begin
    at := tenure.now();
    select * into q from tenure.queue x where x.tenant = for_tenant and x.queue_key = for_queue and x.retired_at is null;
    if not found then
        return;
    end if;
    select * into w from tenure.worker x where x.uid = for_worker and (x.tenant = for_tenant) is true;
    if not found then
        return;
    end if;
    ttl := coalesce(for_seconds, q.lease_ttl_seconds);
    took_over := exists (
        select from tenure.queue former
        where former.tenant = for_tenant and former.queue_key = for_queue and former.retired_at is not null
            and not former.subject_template_codes <@ q.subject_template_codes);
    due := not past_gate and exists (
        select from tenure.execution d
        where d.tenant = for_tenant and d.next_queue_key = for_queue and d.deferred and d.eligible_at <= at offset 0);
    lapsed := not past_gate and exists (
        select from tenure.attempt a
        where a.queue = q.uid and a.lease_status = 'ACTIVE' and a.expires_at <= at
        union all
        select from tenure.queue former, lateral (
            select from tenure.attempt a
            where a.queue = former.uid and a.lease_status = 'ACTIVE' and a.expires_at <= at limit 1) a
        where former.tenant = for_tenant and former.queue_key = for_queue and former.retired_at is not null);
    if not due and not lapsed and exists (
        select from tenure.execution x
        where x.tenant = for_tenant and x.next_queue_key = for_queue and x.claimable
            and (-x.priority, coalesce(x.due_at, 'infinity'::timestamptz), x.eligible_at, x.created_at, x.uid)
                > (after_priority, after_due, after_eligible, after_created, after_uid)
        offset 0)
    then
        -- Its row is the lock under which its leases are counted.
        select * into w from tenure.worker x where x.uid = for_worker and (x.tenant = for_tenant) is true for no key update;
    else
        at_most := 0;
    end if;
    room := w.max_concurrent_leases - (select count(*) from (
        select from tenure.attempt a
        where a.worker = w.uid and (a.worker, a.uid) > (w.uid, live_after) and a.lease_status = 'ACTIVE' limit w.max_concurrent_leases) held);
    allowed := room > 0 and q.enabled and w.status = 'ONLINE' and not w.drain_requested
        and (not q.manual_only or w.worker_type = 'HUMAN_SESSION')
        and w.capabilities @> q.required_worker_capabilities
        and (q.site_scope = '{}' or w.site_scope && q.site_scope)
        and (q.platform_scope = '{}' or w.platform_scope && q.platform_scope)
        and (q.assay_scope = '{}' or w.assay_scope && q.assay_scope)
        and coalesce(of_incarnation = w.incarnation, true);
    if not allowed or at_most < 1 then
        return next;
        return;
    end if;
    told_data := jsonb_build_object('ttl', ttl, 'started', starts)
        || case when w.incarnation = 1 then '{}'::jsonb else jsonb_build_object('incarnation', w.incarnation) end;
    for e in
        select x.uid, x.state, x.revision, x.seq, x.head, x.attempt_count, x.next_action_key, x.priority, x.due_at, x.eligible_at, x.created_at,
            x.slots_free, x.slots_total, s.template, s.name, s.external_ref, s.properties::text as properties, s.payload_ref, s.correlation_id,
            case when x.slots_total = 1 then 1 else (
                select min(n) from generate_series(1, x.slots_total) n
                where n not in (
                    select a.slot from tenure.attempt a where a.subject = x.uid and a.shared and a.lease_status = 'ACTIVE'
                    union all (
                        -- Done in this round: requeueing, or the next queue, counts anew.
                        select a.slot from tenure.attempt a where a.subject = x.uid and a.shared and a.lease_status = 'COMPLETED'
                        order by a.end_revision desc limit x.slots_done))) end as slot
        from tenure.execution x
        cross join lateral (select s.* from tenure.subject s where s.uid = x.uid offset 0) s
        where x.tenant = for_tenant and x.next_queue_key = for_queue and x.claimable
            and (-x.priority, coalesce(x.due_at, 'infinity'::timestamptz), x.eligible_at, x.created_at, x.uid)
                > (after_priority, after_due, after_eligible, after_created, after_uid)
            and x.eligible_at <= at and x.state = any (q.eligible_states)
            and (x.site is null or q.site_scope = '{}' or x.site = any (q.site_scope))
            and (x.platform is null or q.platform_scope = '{}' or x.platform = any (q.platform_scope))
            and (x.assay is null or q.assay_scope = '{}' or x.assay = any (q.assay_scope))
            and (not took_over or tenure.served(x.uid, q.subject_template_codes))
            and (x.slots_total = 1 or (
                select a.uid from tenure.attempt a
                where a.subject = x.uid and a.worker = w.uid and a.shared and a.lease_status in ('ACTIVE', 'COMPLETED') limit 1) is null)
            and (x.barred_workers is null or (w.uid = any (x.barred_workers) or w.owner = any (x.barred_principals)) is not true)
        order by -x.priority, coalesce(x.due_at, 'infinity'::timestamptz), x.eligible_at, x.created_at, x.uid
        limit least(at_most, room) for no key update of x skip locked
    loop
        -- Not before whatever made it claimable, which may have happened since this began: each statement in here sees more.
        at := greatest(at, coalesce(nullif(current_setting('tenure.now', true), '')::timestamptz, clock_timestamp()));
        lease := nextval('tenure.uid');
        after := case when not starts then e.state when e.slots_free = 1 then 'RUNNING' when e.slots_total > 1 then 'READY' else e.state end;
        newly := e.revision + (after <> e.state)::int;
        row_data := case when e.slots_total = 1 then told_data else told_data || jsonb_build_object('slot', e.slot) end;
        chained := tenure.fact_hash(e.head, e.uid, e.seq + 1, at, for_tenant, newly, lease, w.uid, 'lease.claimed', by_actor, after, for_queue,
            null, null, null, null, trace, row_data);
        with told as (
            insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, lease, worker, trace_id, data, hash)
            values (e.uid, e.seq + 1, for_tenant, at, newly, after, 'lease.claimed', by_actor, for_queue, lease, w.uid, trace, row_data, chained)),
        leased as (
            insert into tenure.attempt (uid, tenant, subject, queue, worker, incarnation, attempt_number, ttl_seconds, start_revision, slot,
                shared, lease_status, record_status, start_state, claimed_at, expires_at, started_at, token_hash, claim_key, claim_hash,
                action_key)
            values (lease, for_tenant, e.uid, q.uid, w.uid, w.incarnation, e.attempt_count + 1, ttl, e.revision, e.slot, e.slots_total > 1,
                'ACTIVE', 'STARTED', e.state, at, at + make_interval(secs => ttl), case when starts then at end, token, key, key_hash,
                e.next_action_key))
        update tenure.execution x
        set state = after, revision = newly, seq = e.seq + 1, head = chained, slots_free = e.slots_free - 1, last_record = lease + 1
        where x.uid = e.uid;
        if e.slots_free > 1 then
            -- Whoever looked at the same moment found it locked, and would not look again for a while.
            perform pg_notify('tenure_work', for_tenant || ' ' || for_queue);
        end if;
        subject := e.uid;
        attempt_number := e.attempt_count + 1;
        state := after;
        revision := newly;
        seq := e.seq + 1;
        slot := e.slot;
        next_action_key := e.next_action_key;
        rank := -e.priority;
        due_at := e.due_at;
        eligible_at := e.eligible_at;
        created_at := e.created_at;
        template := e.template;
        name := e.name;
        external_ref := e.external_ref;
        properties := e.properties;
        payload_ref := e.payload_ref;
        correlation_id := e.correlation_id;
        return next;
    end loop;
    if lease is null then
        return next;
    end if;
end
$$;
