-- The law asks the same in less time: what a row is looked up by is a join, not a query for each row, and what a whole batch
-- shares (the actor of its facts) is looked at once. `offset 0` keeps each a look-up still, in every plan there is.

create or replace function law_fact() returns trigger language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_memoize = off set jit = off as $$
declare
    bad tenure.fact;
begin
    select n.* into bad
    from (
            select f.type, f.data, f.actor, btrim(f.actor) = '' as nobody,
                exists (select from tenure.fact_type t where t.type = f.type offset 0) as registered, tenure.signal(f.data::text) as harmless
            from written f limit 1) first
    cross join written n
    left join lateral (select e.uid, e.seq from tenure.execution e where e.uid = n.thread offset 0) subject on true
    where n.seq < 1
        or octet_length(n.hash) <> 32
        or case when n.actor = first.actor then first.nobody else btrim(n.actor) = '' end
        or case when n.data is null then false when n.data = first.data then not first.harmless else not tenure.signal(n.data::text) end
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

create or replace function law_envelope() returns trigger language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_memoize = off set jit = off as $$
declare
    bad bigint;
begin
    select n.uid into bad
    from written n
    left join lateral (
        select l.hash, l.state, l.revision, l.queue_key from tenure.fact l where l.thread = n.uid and l.seq = n.seq offset 0) f on true
    where n.revision < 1 or n.attempt_count < 0 or n.max_attempts_override < 1
        or n.slots_free < 0 or n.slots_done < 0 or n.slots_free + n.slots_done > n.slots_total
        or (n.state = 'HELD') <> (n.hold_state = 'ACTIVE')
        or (f.hash = n.head and f.state = n.state and f.revision = n.revision and f.queue_key is not distinct from n.next_queue_key) is not true;
    if found then
        perform tenure.refuse_envelope(bad);
    end if;
    return null;
end
$$;

create or replace function law_birth() returns trigger language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_memoize = off set jit = off as $$
declare
    bad tenure.execution;
begin
    select n.* into bad
    from written n
    left join lateral (
        select l.hash, l.state, l.revision, l.queue_key from tenure.fact l where l.thread = n.uid and l.seq = n.seq offset 0) f on true
    left join lateral (select d.tenant from tenure.subject d where d.uid = n.uid offset 0) s on true
    where n.revision < 1 or n.attempt_count < 0 or n.max_attempts_override < 1 or n.slots_total < 1
        or n.slots_free < 0 or n.slots_done < 0 or n.slots_free + n.slots_done > n.slots_total
        or (n.state = 'HELD') <> (n.hold_state = 'ACTIVE')
        or (f.hash = n.head and f.state = n.state and f.revision = n.revision and f.queue_key is not distinct from n.next_queue_key) is not true
        or (s.tenant = n.tenant) is not true
        or (n.seq > 1 and exists (
            select from tenure.fact l
            where l.thread = n.uid and l.seq > 1 and l.seq <= n.seq and not exists (
                select from tenure.fact p
                where p.thread = l.thread and p.seq = l.seq - 1 and tenure.lawful(p.state, l.state) and p.revision <= l.revision offset 0) offset 0))
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

create or replace function law_attempt_edges() returns trigger language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_memoize = off set jit = off as $$
declare
    bad tenure.attempt;
begin
    select n.* into bad
    from (
            select f.queue, f.worker, exists (select from tenure.queue q where q.uid = f.queue offset 0) as queued,
                exists (select from tenure.worker w where w.uid = f.worker offset 0) as worked
            from written f limit 1) first
    cross join written n
    left join lateral (select e.uid from tenure.execution e where e.uid = n.subject offset 0) subject on true
    where subject.uid is null
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
