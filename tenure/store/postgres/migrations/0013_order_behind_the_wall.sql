-- Where a page of a queue begins, and how many come before a subject, by the index `claimable` also behind the wall.
--
-- Row-level security lets no condition into an index before its own that might tell what it saw, and the order of a queue
-- has such parts: a negation, a coalesce. So a page late in a long queue would be read from the queue's beginning. These
-- functions run as the owner of the schema, for whom there is no wall, and ask themselves whether the caller may see the tenant.

-- True where row-level security would show whoever called the rows of that tenant. To be asked by functions that run as the
-- owner: the caller is the role that was set, else the one that logged in.
create function may_see(for_tenant bigint) returns boolean language sql stable set search_path = pg_catalog, pg_temp
begin atomic
    select has_table_privilege(who.name, 'tenure.execution', 'select')
        and (for_tenant = tenure.current_tenant()
            or pg_has_role(who.name, current_user, 'usage')
            or not exists (select from pg_roles r where r.rolname = 'tenure_api' and pg_has_role(who.name, r.oid, 'usage')))
    from (select case when current_setting('role') = 'none' then session_user else current_setting('role')::name end as name) who;
end;

create function in_order(
    for_tenant bigint, for_queue text, after_rank int, after_due timestamptz, after_since timestamptz, after_created timestamptz,
    after_uid bigint, at_most bigint
) returns table (uid bigint, rank int, due timestamptz, since timestamptz, created_at timestamptz)
language sql stable security definer rows 100 set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
begin atomic
    select e.uid, e.rank, e.due, e.since, e.created_at
    from tenure.queue q
    cross join lateral (select tenure.now() as now, tenure.took_over(q) as taken_over offset 0) s
    cross join lateral (
        select e.uid, -e.priority as rank, coalesce(e.due_at, 'infinity'::timestamptz) as due, e.eligible_at as since, e.created_at
        from tenure.execution e
        where e.tenant = q.tenant and e.next_queue_key = q.queue_key and e.claimable and tenure.on_offer(e, q, s.now, s.taken_over)
            and (-e.priority, coalesce(e.due_at, 'infinity'::timestamptz), e.eligible_at, e.created_at, e.uid)
                > (after_rank, after_due, after_since, after_created, after_uid)
        order by -e.priority, coalesce(e.due_at, 'infinity'::timestamptz), e.eligible_at, e.created_at, e.uid
        limit at_most) e
    where tenure.may_see(for_tenant) and q.tenant = for_tenant and q.queue_key = for_queue and q.retired_at is null;
end;

-- The same of all that a claim looks at, on offer or not.
create function claimable_in_order(
    for_tenant bigint, for_queue text, after_rank int, after_due timestamptz, after_since timestamptz, after_created timestamptz,
    after_uid bigint, at_most bigint
) returns table (uid bigint, rank int, due timestamptz, since timestamptz, created_at timestamptz)
language sql stable security definer rows 1000 set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
begin atomic
    select e.uid, -e.priority as rank, coalesce(e.due_at, 'infinity'::timestamptz) as due, e.eligible_at as since, e.created_at
    from tenure.execution e
    where tenure.may_see(for_tenant) and e.tenant = for_tenant and e.next_queue_key = for_queue and e.claimable
        and (-e.priority, coalesce(e.due_at, 'infinity'::timestamptz), e.eligible_at, e.created_at, e.uid)
            > (after_rank, after_due, after_since, after_created, after_uid)
    order by -e.priority, coalesce(e.due_at, 'infinity'::timestamptz), e.eligible_at, e.created_at, e.uid
    limit at_most;
end;

create function ahead_in_order(
    for_tenant bigint, for_queue text, of_rank int, of_due timestamptz, of_since timestamptz, of_created timestamptz, of_uid bigint,
    at_most bigint
) returns bigint
language sql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
begin atomic
    select count(*)
    from (
        select from tenure.queue q
        cross join lateral (select tenure.now() as now, tenure.took_over(q) as taken_over offset 0) s
        cross join lateral (
            select from tenure.execution e
            where e.tenant = q.tenant and e.next_queue_key = q.queue_key and e.claimable and tenure.on_offer(e, q, s.now, s.taken_over)
                and (-e.priority, coalesce(e.due_at, 'infinity'::timestamptz), e.eligible_at, e.created_at, e.uid)
                    < (of_rank, of_due, of_since, of_created, of_uid)
            limit at_most) e
        where tenure.may_see(for_tenant) and q.tenant = for_tenant and q.queue_key = for_queue and q.retired_at is null) before;
end;

-- Leases that ended in one way but completion, newest first, below a uid: an enum is not let into an index either.
create function ended_leases(
    for_tenant bigint, with_status lease_status, before bigint, of_worker bigint, of_queues bigint[], at_most bigint
) returns setof attempt
language sql stable security definer rows 100 set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
begin atomic
    select a.* from tenure.attempt a
    where tenure.may_see(for_tenant) and a.tenant = for_tenant and a.lease_status in ('RELEASED', 'EXPIRED', 'ABANDONED', 'CANCELED')
        and a.lease_status = with_status and -a.uid > -before
        and (of_worker is null or a.worker = of_worker) and (of_queues is null or a.queue = any (of_queues))
    order by -a.uid limit at_most;
end;

-- As in 0002, but by a comparison of both keys of `worker_live` at once: behind the wall, where that index alone does not
-- answer, the primary key looked as good, which leads through the leases of everybody.
create or replace function live_leases(of_worker bigint, after_lease bigint, at_most int) returns int language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
    return (select count(*) from (
        select from tenure.attempt a
        where a.worker = of_worker and (a.worker, a.uid) > (of_worker, after_lease) and a.lease_status = 'ACTIVE' limit at_most) held);
end
$$;
