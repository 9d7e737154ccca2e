-- Many rows of one statement are looked at together, where the statement says by `tenure.together` that they are many. Subjects that
-- are born, claimed or completed together lie close to each other, so what the law must find of all of them is one stretch of an
-- index, and EXCEPT says whether any of it is missing. A stretch is read for a few rows for each that is written and no further, so
-- there is no bad plan for it, whatever the statistics and however long the threads. What is said decides in which order the law
-- looks, and nothing else: what is not found so is looked up by key, as all else is, and refused if it is not found so either.

-- Whether a stretch of an index, from one key to another, is read sooner than each of so many keys in it is looked up. Halves, since
-- a difference of any two numbers may be none. Not marked as safe for parallel workers, so that no plan that asks it has any.
create function together(low bigint, high bigint, many bigint) returns boolean language sql immutable
return coalesce(high / 2 - low / 2 < 2 * many, false);

-- Says that a statement writes so many rows of a kind, before it does: to look at fewer than fifty together takes longer than to
-- look each up. It stays said until the next statement that says it, or the end of the transaction. A serializable transaction
-- would be kept from committing by what others did to the neighbours of its rows.
create function tell_how_many(many bigint) returns text language sql
return set_config('tenure.together',
    case when many >= 50 and current_setting('transaction_isolation') <> 'serializable' then 'on' else 'off' end, true);

create or replace function law_birth() returns trigger language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_memoize = off set jit = off as $$
declare
    low bigint; high bigint; many bigint;
    found_all boolean := false;
    bad tenure.execution;
begin
    if current_setting('tenure.together', true) = 'on' then
        select min(n.uid), max(n.uid), count(*) into low, high, many from written n;
        found_all := tenure.together(low, high, many)
            and not exists (
                select n.uid, n.seq, n.head, n.state, n.revision, n.next_queue_key from written n
                except
                (select l.thread, l.seq, l.hash, l.state, l.revision, l.queue_key from tenure.fact l
                where l.thread between low and high limit 4 * many))
            and not exists (
                select n.uid, n.tenant from written n
                except
                select d.uid, d.tenant from tenure.subject d where d.uid between low and high);
    end if;
    select n.* into bad
    from written n
    left join lateral (
        select l.hash, l.state, l.revision, l.queue_key from tenure.fact l
        where not found_all and l.thread = n.uid and l.seq = n.seq offset 0) f on true
    left join lateral (select d.tenant from tenure.subject d where not found_all and d.uid = n.uid offset 0) s on true
    where n.revision < 1 or n.attempt_count < 0 or n.max_attempts_override < 1 or n.slots_total < 1
        or n.slots_free < 0 or n.slots_done < 0 or n.slots_free + n.slots_done > n.slots_total
        or (n.state = 'HELD') <> (n.hold_state = 'ACTIVE')
        or (not found_all and (
            (f.hash = n.head and f.state = n.state and f.revision = n.revision and f.queue_key is not distinct from n.next_queue_key) is not true
            or (s.tenant = n.tenant) is not true))
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

create or replace function law_fact() returns trigger language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_memoize = off set jit = off as $$
declare
    low bigint; high bigint; many bigint;
    found_all boolean := false;
    bad tenure.fact;
begin
    if current_setting('tenure.together', true) = 'on' then
        select min(n.thread), max(n.thread), count(*) into low, high, many from written n;
        found_all := tenure.together(low, high, many)
            and not exists (
                select n.thread, n.seq from written n
                except
                select e.uid, e.seq from tenure.execution e where e.uid between low and high);
    end if;
    select n.* into bad
    from (
            select f.type, f.data, f.actor, btrim(f.actor) = '' as nobody,
                exists (select from tenure.fact_type t where t.type = f.type offset 0) as registered, tenure.signal(f.data::text) as harmless
            from written f limit 1) first
    cross join written n
    left join lateral (select e.uid, e.seq from tenure.execution e where not found_all and e.uid = n.thread offset 0) subject on true
    where n.seq < 1
        or octet_length(n.hash) <> 32
        or case when n.actor = first.actor then first.nobody else btrim(n.actor) = '' end
        or case when n.data is null then false when n.data = first.data then not first.harmless else not tenure.signal(n.data::text) end
        or (not found_all and (
            n.seq > coalesce(subject.seq, tenure.thread_length(n.thread))
            or (subject.seq is null and n.seq > 1 and not exists (
                select from tenure.fact p
                where p.thread = n.thread and p.seq = n.seq - 1
                    and ((p.state is null and n.state is null) or (tenure.lawful(p.state, n.state) and p.revision <= n.revision)) offset 0))))
        or case when n.type = first.type then not first.registered
            else not exists (select from tenure.fact_type t where t.type = n.type offset 0) end;
    if found then
        perform tenure.refuse_fact(bad);
    end if;
    return null;
end
$$;

create or replace function law_attempt_edges() returns trigger language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_memoize = off set jit = off as $$
declare
    low bigint; high bigint; many bigint;
    found_all boolean := false;
    bad tenure.attempt;
begin
    if current_setting('tenure.together', true) = 'on' then
        select min(n.subject), max(n.subject), count(*) into low, high, many from written n;
        found_all := tenure.together(low, high, many)
            and not exists (
                select n.subject from written n
                except
                select e.uid from tenure.execution e where e.uid between low and high);
    end if;
    select n.* into bad
    from (
            select f.queue, f.worker, exists (select from tenure.queue q where q.uid = f.queue offset 0) as queued,
                exists (select from tenure.worker w where w.uid = f.worker offset 0) as worked
            from written f limit 1) first
    cross join written n
    left join lateral (select e.uid from tenure.execution e where not found_all and e.uid = n.subject offset 0) subject on true
    where (not found_all and subject.uid is null)
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
