-- The ends of steps, and what follows them, in one statement (docs/decisions/0014): subjects are completed, their runs moved on or
-- begun, and the next subjects submitted, run by run: a run of which anything is not as it was looked at is left, with all that is its.

-- statements/look_at_steps.sql tells what `ends` and `moved` were decided on. `at` is when that was; `ends` are attempts to complete,
-- `moved` the runs behind the facts `told`, some of which begin with them, `planned` the subjects of what those plan, `linked` edges
-- to them: from a subject (parent), or from what stands for a runnable of the run (parent_key). A run that begins is answered by
-- its own row, without a lease.
create function hand_over(
    for_tenant bigint, for_worker bigint, by_actor text, trace text, at timestamptz, ends jsonb, moved jsonb, told jsonb, planned jsonb,
    linked jsonb, notify boolean)
returns table (lease bigint, subject bigint, revision int, seq int, queue_key text)
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    unfit bigint[];
begin
    -- Subjects before runs, the youngest run first, as everybody locks them. What follows sees what these locks waited for.
    perform from tenure.execution e
    where e.uid = any (array(select (i ->> 'subject')::bigint from jsonb_array_elements(ends) i))
    order by e.uid for no key update;
    perform from tenure.run r
    where r.uid = any (array(select (i ->> 'uid')::bigint from jsonb_array_elements(moved) i))
    order by r.uid desc for no key update;
    unfit := array(
        select i.uid
        from jsonb_to_recordset(moved) as i(uid bigint, begins boolean, expected int)
        where not i.begins and not exists (
            select from tenure.run r
            where r.uid = i.uid and r.tenant = for_tenant and r.seq = i.expected and r.status = 'RUNNING' offset 0)
        union all
        select i.run
        from jsonb_to_recordset(ends) as i(run bigint, lease bigint, subject bigint, seq int, proof_of_holder text)
        where not exists (
                select from tenure.attempt a
                where a.uid = i.lease and a.subject = i.subject and a.lease_status = 'ACTIVE' and a.started_at is not null
                    and a.expires_at > tenure.now() and a.worker = for_worker and a.token_hash = decode(i.proof_of_holder, 'hex')
                    and a.tenant = for_tenant offset 0)
            or not exists (
                select from tenure.execution e
                where e.uid = i.subject and e.seq = i.seq and e.state = 'RUNNING' and e.slots_total = 1 and e.slots_free = 0
                    and e.last_record = i.lease + 1 and e.in_run offset 0)
        union all
        select i.run
        from jsonb_to_recordset(planned) as i(run bigint, runnable_key text, queue_key text, template_code text)
        where not exists (
                select from tenure.queue q
                where q.tenant = for_tenant and q.queue_key = i.queue_key and q.retired_at is null
                    and i.template_code = any (q.subject_template_codes) offset 0)
            or exists (select from tenure.runnable k where k.run = i.run and k.runnable_key = i.runnable_key offset 0));
    return query
    with item as materialized (
        select i.run, i.lease, i.subject, decode(i.proof, 'hex') as proof, i.result, i.result_ref
        from jsonb_to_recordset(ends) as i(run bigint, lease bigint, subject bigint, proof text, result jsonb, result_ref text)
        where i.run <> all (unfit)),
    ended as (
        update tenure.execution e
        set state = 'COMPLETED', revision = e.revision + 1, seq = e.seq + 1, slots_done = 1,
            head = tenure.fact_hash(e.head, e.uid, e.seq + 1, at, for_tenant, e.revision + 1, i.lease, for_worker, 'execution.completed',
                by_actor, 'COMPLETED', e.next_queue_key, null, i.proof, null, null, trace, null)
        from item i where e.uid = any (array[i.subject])
        returning i.lease, i.proof, i.result, i.result_ref, e.uid, e.seq, e.revision, e.head, e.next_queue_key),
    recorded as (
        update tenure.attempt a
        set lease_status = 'COMPLETED', record_status = 'SUCCEEDED', ended_at = at, end_state = 'COMPLETED', end_revision = d.revision,
            result = d.result, result_ref = d.result_ref
        from ended d where a.uid = any (array[d.lease])),
    grown as (
        update tenure.run r
        set status = i.status, boundary = i.boundary, wake_at = i.wake_at, output = i.output, ended_at = i.ended_at, seq = i.seq,
            head = decode(i.head, 'hex')
        from jsonb_to_recordset(moved) as i(uid bigint, begins boolean, status text, boundary jsonb, wake_at timestamptz, output jsonb,
            ended_at timestamptz, seq int, head text)
        where not i.begins and i.uid <> all (unfit) and r.uid = any (array[i.uid])),
    begun as (
        insert into tenure.run (uid, tenant, workflow, status, name, input, input_hash, correlation_id, trace_id, boundary, wake_at, output,
            started_at, ended_at, seq, head)
        select i.uid, for_tenant, i.workflow, i.status, i.name, i.input, decode(i.input_hash, 'hex'), i.correlation_id, i.trace_id,
            i.boundary, i.wake_at, i.output, at, i.ended_at, i.seq, decode(i.head, 'hex')
        from jsonb_to_recordset(moved) as i(uid bigint, begins boolean, workflow bigint, status text, name text, input jsonb, input_hash text,
            correlation_id text, trace_id text, boundary jsonb, wake_at timestamptz, output jsonb, ended_at timestamptz, seq int, head text)
        where i.begins and i.uid <> all (unfit)
        returning uid, seq),
    fresh as materialized (
        select i.run, i.uid, i.runnable_key, i.step, i.iteration, i.retry, i.template, i.queue_key, i.properties, i.data::jsonb as data, i.name,
            i.correlation_id, i.data::jsonb -> 'set' as set, decode(i.proof, 'hex') as proof,
            tenure.fact_hash(''::bytea, i.uid, 1, at, for_tenant, 1, null, null, 'subject.submitted', by_actor, 'READY', i.queue_key, null,
                decode(i.proof, 'hex'), i.correlation_id, null, trace, i.data::jsonb) as hash
        from jsonb_to_recordset(planned) as i(run bigint, uid bigint, runnable_key text, step text, iteration int, retry jsonb, template bigint,
            queue_key text, properties text, data text, name text, correlation_id text, proof text)
        where i.run <> all (unfit)),
    stands as (
        insert into tenure.runnable (subject, tenant, run, runnable_key, step, iteration, retry)
        select uid, for_tenant, run, runnable_key, step, iteration, retry from fresh),
    born as (
        insert into tenure.subject (uid, tenant, template, name, properties, correlation_id, created_at)
        select uid, for_tenant, template, name, properties::jsonb, correlation_id, at from fresh),
    waiting as (
        insert into tenure.execution (uid, tenant, created_at, ready_at, due_at, priority, slots_total, slots_free, max_attempts_override,
            next_queue_key, next_action_key, site, platform, assay, seq, revision, state, head, deferred, in_run)
        select uid, for_tenant, at, (set ->> 'ready_at')::timestamptz, (set ->> 'due_at')::timestamptz, coalesce((set ->> 'priority')::smallint, 0),
            coalesce((set ->> 'slots_total')::smallint, 1), coalesce((set ->> 'slots_free')::smallint, 1), (set ->> 'max_attempts_override')::int,
            queue_key, set ->> 'next_action_key', set ->> 'site', set ->> 'platform', set ->> 'assay', 1, 1, 'READY', hash,
            coalesce((set ->> 'ready_at')::timestamptz > at, false), true
        from fresh),
    edges as (
        insert into tenure.link (parent, child, relation, tenant, created_at)
        select coalesce(i.parent, k.subject), i.child, i.relation, for_tenant, at
        from jsonb_to_recordset(linked) as i(run bigint, parent bigint, parent_key text, child bigint, relation text)
        left join lateral (
            select k.subject from tenure.runnable k where k.run = i.run and k.runnable_key = i.parent_key offset 0) k on true
        where i.run <> all (unfit) and coalesce(i.parent, k.subject) is not null
        on conflict do nothing),
    facts as (
        insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, lease, worker, idempotency_key, correlation_id,
            causation_id, trace_id, payload_hash, data, hash)
        select d.uid, d.seq, for_tenant, at, d.revision, 'COMPLETED'::tenure.state, 'execution.completed', by_actor, d.next_queue_key, d.lease, for_worker,
            null::text, null::text, null::bigint, trace, d.proof, null::jsonb, d.head
        from ended d
        union all
        select i.thread, i.seq, for_tenant, i.at, null, null, i.type, i.actor, null, null, null, i.idempotency_key, i.correlation_id,
            i.causation_id, i.trace_id, decode(i.payload_hash, 'hex'), i.data, decode(i.hash, 'hex')
        from jsonb_to_recordset(told) as i(thread bigint, seq int, at timestamptz, type text, actor text, idempotency_key text,
            correlation_id text, causation_id bigint, trace_id text, payload_hash text, data jsonb, hash text)
        where i.thread <> all (unfit)
        union all
        select f.uid, 1, for_tenant, at, 1, 'READY', 'subject.submitted', by_actor, f.queue_key, null, null, null, f.correlation_id, null,
            trace, f.proof, f.data, f.hash
        from fresh f)
    select d.lease, d.uid, d.revision, d.seq, d.next_queue_key from ended d
    union all
    select null, b.uid, null, b.seq, null from begun b;
    if notify then
        perform pg_notify('tenure_work', for_tenant || ' ' || i.queue_key)
        from (
            select distinct i.queue_key from jsonb_to_recordset(planned) as i(run bigint, queue_key text)
            where i.run <> all (unfit)) i;
    end if;
end
$$;
