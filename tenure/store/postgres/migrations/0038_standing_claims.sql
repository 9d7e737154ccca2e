-- A worker that waits leaves a claim standing, and the submission of what it waits for answers it: in the submission's own
-- transaction, so that a single job needs one commit until it is under lease, not two (docs/decisions/0023).

-- One row for each queue of a worker that listens. It says nothing of whether the worker still does: that is told by the advisory
-- lock `spot`, which the session holds that listens on `channel`, and which ends with it. No fact: it changes no work, and the
-- claim that answers it leaves its own.
create table standing_claim (
    tenant bigint not null,
    queue_key text collate "C" not null,
    spot bigint not null check (spot >= 0),
    worker bigint not null,
    incarnation int not null,
    -- A secret: what is sent there can be heard by those alone who may read this row.
    channel text not null check (channel ~ '^tenure_[0-9a-f]{32}$'),
    token_hash bytea not null,
    actor text not null,
    ttl_seconds int,
    -- Precedes every lease that the worker holds: a look for live ones begins there.
    live_after bigint not null,
    primary key (tenant, queue_key, spot)
);
create index standing_claim_worker on standing_claim (worker);

insert into api_right (relation, rights) values ('standing_claim', 'select');

-- LISTEN takes no parameter, and the statement itself would be read by whoever may read the statements of others.
create function listen_on(channel text) returns void language plpgsql as $$
begin
    execute format('listen %I', channel);
end
$$;

-- A worker that waits for what is submitted to this queue, with its row locked until the submission ends, and how long its lease would hold;
-- null where there is none, or where something is to be taken first. It waits for nobody (docs/decisions/0022): a worker whose row somebody
-- holds is passed over. So is one that has work: its next claim takes many at once. Three at most are looked at, from anywhere in their order, so
-- that many busy ones cost little. The settings that keep its plans are those of submit_one, which alone calls it.
create function waiting_worker(for_tenant bigint, for_queue text, of_queue bigint, at timestamptz) returns standing_claim language plpgsql as $$
#variable_conflict use_column
declare
    start bigint := (random() * 9e18)::bigint;
    found_spot bigint;
    seconds int;
    s tenure.standing_claim;
begin
    -- Elsewhere a claim that was withdrawn meanwhile could still be seen.
    if current_setting('transaction_isolation') <> 'read committed' then
        return null;
    end if;
    -- A lock that can be had shows that nobody listens any more. A lease is looked for from the newest on: a busy worker's is found at once.
    select x.spot, q.lease_ttl_seconds into found_spot, seconds
    from (
        select c.* from (
            (select x.spot, x.worker, x.incarnation, x.live_after from tenure.standing_claim x
            where x.tenant = for_tenant and x.queue_key = for_queue and x.spot >= start order by x.spot limit 3)
            union all
            (select x.spot, x.worker, x.incarnation, x.live_after from tenure.standing_claim x
            where x.tenant = for_tenant and x.queue_key = for_queue and x.spot < start order by x.spot limit 3)) c
        limit 3) x
    join tenure.worker w on w.uid = x.worker and (w.tenant = for_tenant) is true
    join tenure.queue q on q.uid = of_queue and q.retired_at is null
    where not pg_try_advisory_xact_lock_shared(x.spot)
        and q.enabled and 'READY' = any (q.eligible_states)
        and w.status = 'ONLINE' and not w.drain_requested and w.incarnation = x.incarnation
        and w.heartbeat_at > at - make_interval(secs => w.heartbeat_ttl_seconds)
        and (not q.manual_only or w.worker_type = 'HUMAN_SESSION')
        and w.capabilities @> q.required_worker_capabilities
        and (q.site_scope = '{}' or w.site_scope && q.site_scope)
        and (q.platform_scope = '{}' or w.platform_scope && q.platform_scope)
        and (q.assay_scope = '{}' or w.assay_scope && q.assay_scope)
        and (
            select a.uid from tenure.attempt a
            where a.worker = x.worker and (a.worker, a.uid) > (x.worker, x.live_after) and a.lease_status = 'ACTIVE'
            order by a.worker desc, a.uid desc limit 1) is null
    limit 1 for no key update of w skip locked;
    if found_spot is null then
        return null;
    end if;
    -- As it is now that nobody else can take anything for this worker, nor the worker withdraw it. What waits already, falls due or has lapsed
    -- comes first.
    select x.* into s from tenure.standing_claim x
    where x.tenant = for_tenant and x.queue_key = for_queue and x.spot = found_spot
        and (
            select a.uid from tenure.attempt a
            where a.worker = x.worker and (a.worker, a.uid) > (x.worker, x.live_after) and a.lease_status = 'ACTIVE'
            order by a.worker desc, a.uid desc limit 1) is null
        and not exists (
            select from tenure.execution e where e.tenant = for_tenant and e.next_queue_key = for_queue and e.claimable offset 0)
        and not exists (
            select from tenure.execution d
            where d.tenant = for_tenant and d.next_queue_key = for_queue and d.deferred and d.eligible_at <= at offset 0)
        and not exists (
            select from tenure.attempt a where a.queue = of_queue and a.lease_status = 'ACTIVE' and a.expires_at <= at offset 0)
        and not exists (
            select from tenure.queue former, lateral (
                select from tenure.attempt a
                where a.queue = former.uid and a.lease_status = 'ACTIVE' and a.expires_at <= at limit 1) a
            where former.tenant = for_tenant and former.queue_key = for_queue and former.retired_at is not null offset 0);
    s.ttl_seconds := coalesce(s.ttl_seconds, seconds);
    return s;
end
$$;

-- As before; and where a worker waits for it, it is born under that worker's lease: with the facts, the attempt and the envelope that a
-- claim would leave. Only a transaction of its own (`alone`) may have that, since the lease begins now.
-- The one without `alone` stays, for clients of before.
create function submit_one(
    for_tenant bigint, of_template bigint, template_code text, for_queue text, born state, by_actor text, trace text, with_properties jsonb,
    with_data jsonb, called text, reference text, payload text, key text, proof bytea, correlation text, drawn bigint, stands_for_runnable boolean, notify boolean,
    alone boolean,
    out accepted boolean, out at timestamptz, out subject bigint, out ordinal bigint)
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
    of_queue bigint;
    awaited boolean := false;
    placed boolean := false;
    moment timestamptz;
    began timestamptz;
    standing tenure.standing_claim;
    lease bigint;
    chained bytea;
    claimed bytea;
    claimed_with jsonb;
    message text;
    given jsonb := with_data -> 'set';
begin
    at := tenure.now();
    accepted := true;
    if for_queue is not null then
        select x.uid, alone and exists (select from tenure.standing_claim s where s.tenant = for_tenant and s.queue_key = for_queue offset 0)
        into of_queue, awaited
        from tenure.queue x
        where x.tenant = for_tenant and x.queue_key = for_queue and x.retired_at is null and template_code = any (x.subject_template_codes);
        accepted := found;
    end if;
    if not accepted then
        return;
    elsif key is not null or reference is not null then
        if exists (select from tenure.subject s where s.tenant = for_tenant and s.submit_key = key)
            or exists (select from tenure.subject s where s.tenant = for_tenant and s.external_ref = reference)
        then
            return;
        end if;
    end if;
    subject := coalesce(drawn, nextval('tenure.uid'));
    ordinal := 1;
    chained := tenure.fact_hash(''::bytea, subject, 1, at, for_tenant, 1, null, null, 'subject.submitted', by_actor, born, for_queue, key,
        proof, correlation, null, trace, with_data);
    if awaited and notify and born = 'READY'
        and (given ?| array['ready_at', 'slots_total', 'slots_free', 'site', 'platform', 'assay', 'barred_workers', 'barred_principals']) is not true
    then
        moment := statement_timestamp();
        began := at;
        if key is not null or reference is not null then
            -- Here, before any worker's row is held, whoever submits the same in an open transaction is waited for.
            insert into tenure.subject (uid, tenant, template, name, external_ref, properties, payload_ref, submit_key, correlation_id, created_at)
            values (subject, for_tenant, of_template, called, reference, with_properties, payload, key, correlation, at);
            placed := true;
            moment := clock_timestamp();
            began := greatest(at, coalesce(nullif(current_setting('tenure.now', true), '')::timestamptz, clock_timestamp()));
        end if;
        standing := tenure.waiting_worker(for_tenant, for_queue, of_queue, began);
    end if;
    if standing.worker is not null then
        lease := nextval('tenure.uid');
        claimed_with := jsonb_build_object('ttl', standing.ttl_seconds, 'started', true)
            || case when standing.incarnation = 1 then '{}'::jsonb else jsonb_build_object('incarnation', standing.incarnation) end;
        claimed := tenure.fact_hash(chained, subject, 2, began, for_tenant, 2, lease, standing.worker, 'lease.claimed', standing.actor, 'RUNNING', for_queue, null,
            null, null, null, null, claimed_with);
        with data as (
            insert into tenure.subject (uid, tenant, template, name, external_ref, properties, payload_ref, submit_key, correlation_id, created_at)
            select subject, for_tenant, of_template, called, reference, with_properties, payload, key, correlation, at where not placed),
        told as (
            insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, lease, worker, idempotency_key, correlation_id,
                trace_id, payload_hash, data, hash)
            values (subject, 1, for_tenant, at, 1, born, 'subject.submitted', by_actor, for_queue, null, null, key, correlation, trace, proof,
                    with_data, chained),
                (subject, 2, for_tenant, began, 2, 'RUNNING', 'lease.claimed', standing.actor, for_queue, lease, standing.worker, null, null, null, null,
                    claimed_with, claimed)),
        leased as (
            insert into tenure.attempt (uid, tenant, subject, queue, worker, incarnation, attempt_number, ttl_seconds, start_revision, slot,
                shared, lease_status, record_status, start_state, claimed_at, expires_at, started_at, token_hash, action_key)
            values (lease, for_tenant, subject, of_queue, standing.worker, standing.incarnation, 1, standing.ttl_seconds, 1, 1, false, 'ACTIVE', 'STARTED', born, began,
                began + make_interval(secs => standing.ttl_seconds), began, standing.token_hash, given ->> 'next_action_key'))
        insert into tenure.execution (uid, tenant, created_at, due_at, priority, slots_total, slots_free, max_attempts_override,
            next_queue_key, next_action_key, seq, revision, state, head, deferred, in_run, last_record)
        values (subject, for_tenant, at, (given ->> 'due_at')::timestamptz, coalesce((given ->> 'priority')::smallint, 0), 1, 0,
            (given ->> 'max_attempts_override')::int, for_queue, given ->> 'next_action_key', 2, 2, 'RUNNING', claimed, false,
            stands_for_runnable, lease + 1);
        message := json_build_array(for_queue, extract(epoch from moment), lease, subject, began, standing.ttl_seconds,
            given ->> 'next_action_key', coalesce((given ->> 'priority')::smallint, 0), template_code, called, reference, with_properties, payload,
            correlation);
        perform pg_notify(standing.channel, case when octet_length(message) < 7900 then message
            else json_build_array(for_queue, extract(epoch from moment), lease)::text end);
        return;
    end if;
    with data as (
        insert into tenure.subject (uid, tenant, template, name, external_ref, properties, payload_ref, submit_key, correlation_id, created_at)
        select subject, for_tenant, of_template, called, reference, with_properties, payload, key, correlation, at where not placed),
    told as (
        insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, idempotency_key, correlation_id, trace_id,
            payload_hash, data, hash)
        values (subject, 1, for_tenant, at, 1, born, 'subject.submitted', by_actor, for_queue, key, correlation, trace, proof, with_data, chained))
    insert into tenure.execution (uid, tenant, created_at, ready_at, due_at, priority, slots_total, slots_free, max_attempts_override,
        next_queue_key, next_action_key, site, platform, assay, seq, revision, state, head, deferred, in_run,
        barred_workers, barred_principals)
    values (subject, for_tenant, at, (given ->> 'ready_at')::timestamptz, (given ->> 'due_at')::timestamptz,
        coalesce((given ->> 'priority')::smallint, 0), coalesce((given ->> 'slots_total')::smallint, 1),
        coalesce((given ->> 'slots_free')::smallint, 1), (given ->> 'max_attempts_override')::int, for_queue, given ->> 'next_action_key',
        given ->> 'site', given ->> 'platform', given ->> 'assay', 1, 1, born, chained, coalesce((given ->> 'ready_at')::timestamptz > at, false),
        stands_for_runnable, case when given ? 'barred_workers' then tenure.uids(given -> 'barred_workers') end,
        case when given ? 'barred_principals' then tenure.uids(given -> 'barred_principals') end);
    if notify then
        perform pg_notify('tenure_work', for_tenant || ' ' || for_queue);
    end if;
end
$$;

-- As before; and where it is born with more than its first fact, each follows lawfully from the one before, as law_step asks of a change.
create or replace function law_birth() returns trigger language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    bad tenure.execution;
begin
    select n.* into bad
    from written n
    where n.revision < 1 or n.attempt_count < 0 or n.max_attempts_override < 1 or n.slots_total < 1
        or n.slots_free < 0 or n.slots_done < 0 or n.slots_free + n.slots_done > n.slots_total
        or (n.state = 'HELD') <> (n.hold_state = 'ACTIVE')
        or not exists (
            select from tenure.fact f
            where f.thread = n.uid and f.seq = n.seq and f.hash = n.head and f.state = n.state and f.revision = n.revision
                and f.queue_key is not distinct from n.next_queue_key offset 0)
        or (n.seq > 1 and exists (
            select from tenure.fact f
            where f.thread = n.uid and f.seq > 1 and f.seq <= n.seq and not exists (
                select from tenure.fact p
                where p.thread = f.thread and p.seq = f.seq - 1 and tenure.lawful(p.state, f.state) and p.revision <= f.revision offset 0) offset 0))
        or not exists (select from tenure.subject s where s.uid = n.uid and s.tenant = n.tenant offset 0)
        or (n.in_run and not exists (select from tenure.runnable r where r.subject = n.uid offset 0));
    if found then
        if bad.in_run and not exists (select from tenure.runnable r where r.subject = bad.uid) then
            raise exception 'Subject % is said to stand for a runnable that is not there', tenure.euid('SX', bad.uid)
                using errcode = 'TN006', hint = 'Append to the run first what plans the runnable.';
        end if;
        perform tenure.refuse_envelope(bad.uid);
    end if;
    return null;
end
$$;

select admit_api();
