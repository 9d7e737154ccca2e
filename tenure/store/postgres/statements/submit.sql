-- Creates subjects of one template before one queue: data tier, envelope and first fact, all or nothing.
-- Inserts only. A row whose submit_key or external_ref is known falls out, and the caller looks at it again.
with clock as materialized (select tenure.now() as now),
same as materialized (
    select tenure.told_before('subject.submitted', %(actor)s, %(state)s::tenure.state) || coalesce(%(queue_key)s::text, '') || ',,' as before,
        tenure.told_after(%(trace_id)s) as after),
gate as materialized (
    select tenure.tell_how_many(octet_length(%(proofs)s::bytea) / 32) as told, %(queue_key)s::text is null or exists (
        select from tenure.queue q
        where q.tenant = %(tenant)s and q.queue_key = %(queue_key)s and q.retired_at is null
            and %(template_code)s = any (q.subject_template_codes)) as open),
fresh as materialized (
    select d.uid, clock.now, i.properties, i.data, i.name, i.external_ref, i.payload_ref, i.submit_key, i.correlation_id, i.ordinal, i.data -> 'set' as set,
        d.proof, case when i.submit_key is null and i.correlation_id is null and i.data is null
            then tenure.told_hash(''::bytea, d.uid, 1, clock.now, %(tenant)s, 1, null, null, same.before || encode(d.proof, 'hex') || same.after)
            else tenure.fact_hash(''::bytea, d.uid, 1, clock.now, %(tenant)s, 1, null, null, 'subject.submitted', %(actor)s,
                %(state)s::tenure.state, %(queue_key)s, i.submit_key, d.proof, i.correlation_id, null, %(trace_id)s, i.data) end as hash
    from gate, clock, same,
        rows from (
            jsonb_array_elements(%(properties)s::jsonb),
            unnest(%(data)s::jsonb[], %(names)s::text[], %(external_refs)s::text[], %(payload_refs)s::text[],
                %(submit_keys)s::text[], %(correlation_ids)s::text[], %(uids)s::bigint[]))
            with ordinality as i(properties, data, name, external_ref, payload_ref, submit_key, correlation_id, drawn, ordinal),
        lateral (
            select coalesce(i.drawn, nextval('tenure.uid')) as uid, substring(%(proofs)s::bytea from (i.ordinal * 32 - 31)::int for 32) as proof
            offset 0) d
    where gate.open
        and (i.submit_key is null or not exists (
            select from tenure.subject s where s.tenant = %(tenant)s and s.submit_key = i.submit_key offset 0))
        and (i.external_ref is null or not exists (
            select from tenure.subject s where s.tenant = %(tenant)s and s.external_ref = i.external_ref offset 0))),
born as (
    insert into tenure.subject (uid, tenant, template, name, external_ref, properties, payload_ref, submit_key, correlation_id, created_at)
    select uid, %(tenant)s, %(template)s, name, external_ref, properties, payload_ref, submit_key, correlation_id, now from fresh),
told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, idempotency_key, correlation_id, trace_id, payload_hash, data, hash)
    select uid, 1, %(tenant)s, now, 1, %(state)s::tenure.state, 'subject.submitted', %(actor)s, %(queue_key)s, submit_key, correlation_id,
        %(trace_id)s, proof, data, hash
    from fresh),
written as (
    insert into tenure.execution (uid, tenant, created_at, ready_at, due_at, priority, slots_total, slots_free, max_attempts_override,
        next_queue_key, next_action_key, site, platform, assay, seq, revision, state, head, deferred, in_run,
        barred_workers, barred_principals)
    select uid, %(tenant)s, now, (set ->> 'ready_at')::timestamptz, (set ->> 'due_at')::timestamptz, coalesce((set ->> 'priority')::smallint, 0),
        coalesce((set ->> 'slots_total')::smallint, 1), coalesce((set ->> 'slots_free')::smallint, 1), (set ->> 'max_attempts_override')::int,
        %(queue_key)s, set ->> 'next_action_key', set ->> 'site', set ->> 'platform', set ->> 'assay', 1, 1, %(state)s::tenure.state, hash,
        coalesce((set ->> 'ready_at')::timestamptz > now, false), %(in_run)s,
        case when set ? 'barred_workers' then tenure.uids(set -> 'barred_workers') end,
        case when set ? 'barred_principals' then tenure.uids(set -> 'barred_principals') end
    from fresh)
select gate.open, clock.now, made.uids, made.ordinals,
    case when %(notify)s and made.uids is not null then pg_notify('tenure_work', %(tenant)s || ' ' || %(queue_key)s) end as hint
from gate cross join clock cross join (
    -- End to end in one value: a row for each would cost more than many of these.
    select string_agg(int8send(uid), ''::bytea order by ordinal) as uids,
        string_agg(int4send(ordinal::int), ''::bytea order by ordinal) filter (where %(keyed)s) as ordinals
    from fresh) made
