-- The law asks the same with fewer look-ups. What follows from what it asks elsewhere is not asked again, and what a whole
-- batch shares (the type of its facts, the queue and the worker of its attempts) is looked up once.
--
-- A subject's thread has no gap, and its envelope equals its last fact (law_envelope). So where an envelope goes one fact
-- on, from its state to a lawful one, the new fact follows its predecessor: law_step asks that of the two versions of the
-- envelope, and looks at the facts between them only where there are several, or where the step is a rare one.

create or replace function law_fact() returns trigger language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    bad tenure.fact;
begin
    select n.* into bad
    from (
            select f.type, f.data, exists (select from tenure.fact_type t where t.type = f.type offset 0) as registered,
                tenure.signal(f.data::text) as harmless
            from written f limit 1) first,
        written n, lateral (select (select e.seq from tenure.execution e where e.uid = n.thread) as seq offset 0) subject
    where n.seq < 1
        or octet_length(n.hash) <> 32
        or btrim(n.actor) = ''
        or case when n.data = first.data then not first.harmless else n.data is not null and not tenure.signal(n.data::text) end
        or n.seq > coalesce(subject.seq, tenure.thread_length(n.thread))
        or (subject.seq is null and n.seq > 1 and not exists (
            select from tenure.fact p
            where p.thread = n.thread and p.seq = n.seq - 1
                and ((p.state is null and n.state is null) or (tenure.lawful(p.state, n.state) and p.revision <= n.revision)) offset 0))
        or case when n.type = first.type then not first.registered
            else not exists (select from tenure.fact_type t where t.type = n.type offset 0) end;
    if found then
        perform tenure.refuse_fact(bad);
    end if;
    return null;
end
$$;

create function law_step() returns trigger language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    bad tenure.fact;
begin
    if new.seq <= old.seq then
        perform tenure.refuse_silence(old, new);
        return null;
    elsif new.seq = old.seq + 1 and new.revision >= old.revision and tenure.lawful(old.state, new.state) then
        return null;
    end if;
    -- That the last of them is there is for law_envelope to ask.
    select f.* into bad
    from tenure.fact f
    where f.thread = new.uid and f.seq > old.seq and f.seq <= new.seq and not exists (
        select from tenure.fact p
        where p.thread = f.thread and p.seq = f.seq - 1 and tenure.lawful(p.state, f.state) and p.revision <= f.revision offset 0)
    order by f.seq limit 1;
    if found then
        perform tenure.refuse_fact(bad);
    end if;
    return null;
end
$$;

drop trigger law_silence on execution;
drop function refuse_silence();
create function refuse_silence(old execution, new execution) returns void language plpgsql as $$
begin
    if new.seq < old.seq then
        raise exception 'Illegal change of subject %: seq % follows seq %', tenure.euid('SX', old.uid), new.seq, old.seq
            using errcode = 'TN002', hint = 'A thread only ever grows.';
    end if;
    -- `deferred` is bookkeeping of an index.
    if (old.state, old.revision, old.head, old.priority, old.attempt_count, old.slots_free, old.slots_done, old.hold_state, old.cancel_requested,
        old.next_queue_key, old.next_action_key, old.ready_at, old.due_at, old.retry_at, old.max_attempts_override, old.hold_reason, old.last_record, old.site, old.platform, old.assay)
        is distinct from
        (new.state, new.revision, new.head, new.priority, new.attempt_count, new.slots_free, new.slots_done, new.hold_state, new.cancel_requested,
        new.next_queue_key, new.next_action_key, new.ready_at, new.due_at, new.retry_at, new.max_attempts_override, new.hold_reason, new.last_record, new.site, new.platform, new.assay)
    then
        raise exception 'Silent change of subject %: its envelope changed without a fact', tenure.euid('SX', old.uid)
            using errcode = 'TN003', hint = 'Append the fact that tells of the change, in the same statement.';
    end if;
end
$$;

-- The condition is read anew for each statement, so it names only what claims and completions do.
create trigger law_step after update on execution for each row
when (new.seq <> old.seq + 1 or new.revision < old.revision
    or not (old.state = new.state or (old.state = 'READY' and new.state = 'RUNNING') or (old.state = 'RUNNING' and new.state = 'COMPLETED')))
execute function law_step();

create or replace function law_attempt_edges() returns trigger language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    bad tenure.attempt;
begin
    select n.* into bad
    from (
            select f.queue, f.worker, exists (select from tenure.queue q where q.uid = f.queue offset 0) as queued,
                exists (select from tenure.worker w where w.uid = f.worker offset 0) as worked
            from written f limit 1) first,
        written n
    where not exists (select from tenure.execution s where s.uid = n.subject offset 0)
        or case when n.queue = first.queue then not first.queued
            else not exists (select from tenure.queue q where q.uid = n.queue offset 0) end
        or case when n.worker = first.worker then not first.worked
            else n.worker is not null and not exists (select from tenure.worker w where w.uid = n.worker offset 0) end;
    if found then
        raise exception 'Attempt % has no such %', bad.uid, case
            when not exists (select from tenure.execution s where s.uid = bad.subject) then 'subject'
            when not exists (select from tenure.queue q where q.uid = bad.queue) then 'queue' else 'worker' end
            using errcode = 'TN006';
    end if;
    return null;
end
$$;

-- The canonical content of a fact in parts, for statements that tell the same of many: what stands before and after the
-- hash of a payload is written once for all. Put together they are what fact_hash writes; a key of a queue needs no quotes.
create function told_before(type text, actor text, state state) returns text language sql stable parallel safe
return left(row(type, actor, state)::text, -1) || ',';

create function told_after(trace_id text) returns text language sql stable parallel safe
return ',' || substr(row(null::text, null::bigint, trace_id, null::jsonb)::text, 2);

create function told_hash(
    previous bytea, thread bigint, seq int, at timestamptz, tenant bigint, revision int, lease bigint, worker bigint, content text
) returns bytea language sql stable parallel safe
return sha256(
    previous || int8send(thread) || int4send(seq) || timestamptz_send(at) || int8send(tenant)
    || int4send(revision) || int8send(coalesce(lease, 0)) || int8send(coalesce(worker, 0)) || convert_to(content, 'UTF8'));
