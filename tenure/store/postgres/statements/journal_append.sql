-- Appends facts to runs together with how the runs stand then: to all of them, or to none where one has grown meanwhile.
-- Key look-ups. A run is found by key once it is locked: it may have changed between snapshot and lock.
with locked as materialized (
    select r.uid, r.seq from tenure.run r where r.uid = any (%(grown)s) order by r.uid desc for no key update),
fit as materialized (
    select count(*) = cardinality(%(grown)s::bigint[]) as fits
    from locked l where l.seq = (%(expected)s::jsonb ->> l.uid::text)::int),
i as materialized (
    select * from jsonb_to_recordset(%(runs)s::jsonb) as i(uid bigint, tenant bigint, begins boolean, stands boolean, workflow bigint, status text,
        run_key text, name text, input jsonb, input_hash text, root bigint, parent_run bigint, parent_runnable text, correlation_id text, trace_id text,
        boundary jsonb, wake_at timestamptz, output jsonb, started_at timestamptz, ended_at timestamptz, seq int, head text)),
born as (
    insert into tenure.run (uid, tenant, workflow, status, run_key, name, input, input_hash, root, parent_run, parent_runnable, correlation_id,
        trace_id, boundary, wake_at, output, started_at, ended_at, seq, head)
    select i.uid, i.tenant, i.workflow, i.status, i.run_key, i.name, i.input, decode(i.input_hash, 'hex'), i.root, i.parent_run, i.parent_runnable,
        i.correlation_id, i.trace_id, i.boundary, i.wake_at, i.output, i.started_at, i.ended_at, i.seq, decode(i.head, 'hex')
    from fit, i where fit.fits and i.begins),
moved as (
    update tenure.run r
    set workflow = case when i.stands then i.workflow else r.workflow end, status = case when i.stands then i.status else r.status end,
        boundary = case when i.stands then i.boundary else r.boundary end, wake_at = case when i.stands then i.wake_at else r.wake_at end,
        output = case when i.stands then i.output else r.output end,
        ended_at = case when i.stands then i.ended_at else r.ended_at end, seq = i.seq, head = decode(i.head, 'hex')
    from fit, i where fit.fits and not i.begins and r.uid = any (array[i.uid])),
told as (
    insert into tenure.fact (thread, seq, tenant, at, type, actor, idempotency_key, correlation_id, causation_id, trace_id, payload_hash, data, hash)
    select f.thread, f.seq, f.tenant, f.at, f.type, f.actor, f.idempotency_key, f.correlation_id, f.causation_id, f.trace_id,
        decode(f.payload_hash, 'hex'), f.data, decode(f.hash, 'hex')
    from fit, jsonb_to_recordset(%(facts)s::jsonb) as f(thread bigint, seq int, tenant bigint, at timestamptz, type text, actor text,
        idempotency_key text, correlation_id text, causation_id bigint, trace_id text, payload_hash text, data jsonb, hash text)
    where fit.fits),
planned as (
    insert into tenure.runnable (subject, tenant, run, runnable_key, step, iteration, retry)
    select p.subject, p.tenant, p.run, p.runnable_key, p.step, p.iteration, p.retry
    from fit, jsonb_to_recordset(%(runnables)s::jsonb) as p(subject bigint, tenant bigint, run bigint, runnable_key text, step text, iteration int, retry jsonb)
    where fit.fits),
paid as (
    insert into tenure.run_payload (uid, tenant, run, data)
    select p.uid, p.tenant, p.run, p.data
    from fit, jsonb_to_recordset(%(payloads)s::jsonb) as p(uid bigint, tenant bigint, run bigint, data jsonb)
    where fit.fits),
linked as (
    insert into tenure.link (parent, child, relation, tenant, created_at)
    select l.parent, l.child, l.relation, l.tenant, l.created_at
    from fit, jsonb_to_recordset(%(links)s::jsonb) as l(parent bigint, child bigint, relation text, tenant bigint, created_at timestamptz)
    where fit.fits
    on conflict do nothing)
select fit.fits, (select jsonb_agg(jsonb_build_array(l.uid, l.seq)) from locked l) as found from fit
