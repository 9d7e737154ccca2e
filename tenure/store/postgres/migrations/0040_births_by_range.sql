-- Many births in one statement are looked at together, where the statement says by `tenure.born_together` that they are many. Their
-- uids lie close to each other, so their envelopes, first facts and data tiers are one stretch of an index each, and EXCEPT says
-- whether one is missing: there is no bad plan for it, whatever the statistics. What is said decides in which order the law looks,
-- nothing else: what is not found so is looked up by key, as all else is, and refused if it is not found so either.

-- Whether a stretch of an index, from one key to another, is read sooner than each of so many keys in it is looked up. Not marked
-- as safe for parallel workers, so that no plan that asks it has any.
create function read_together(low bigint, high bigint, many bigint) returns boolean language sql immutable
return high - low < 4 * many;

create or replace function law_birth() returns trigger language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_memoize = off set jit = off as $$
declare
    low bigint; high bigint; many bigint;
    found_all boolean := false;
    bad tenure.execution;
begin
    if current_setting('tenure.born_together', true) = 'on' then
        select min(n.uid), max(n.uid), count(*) into low, high, many from written n;
        found_all := coalesce(tenure.read_together(low, high, many), false)
            and not exists (
                select n.uid, n.seq, n.head, n.state, n.revision, n.next_queue_key from written n
                except
                select l.thread, l.seq, l.hash, l.state, l.revision, l.queue_key from tenure.fact l where l.thread between low and high)
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
    if current_setting('tenure.born_together', true) = 'on' then
        select min(n.thread), max(n.thread), count(*) into low, high, many from written n;
        found_all := coalesce(tenure.read_together(low, high, many), false)
            and not exists (
                select n.thread, n.seq from written n
                except
                select e.uid, 1 from tenure.execution e where e.uid between low and high and e.seq >= 1);
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
