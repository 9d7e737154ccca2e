-- What reading needs: the visibility rule of S1 3.1 in SQL, said once, and two indexes for the metrics.
--
-- What is visible in a queue has two parts. `claimable` rows that are on offer: a claim takes them as they are. And
-- what a claim has to see to first: rows whose time has come but which are still marked `deferred`, and rows whose lease
-- ran out. tenure.model.visibility says the same in Python; a test compares the two.

-- A subject without a site may go anywhere, a queue without sites takes from anywhere; platform and assay likewise.
create function in_scope(e execution, q queue) returns boolean language sql immutable parallel safe
return (e.site is null or q.site_scope = '{}' or e.site = any (q.site_scope))
    and (e.platform is null or q.platform_scope = '{}' or e.platform = any (q.platform_scope))
    and (e.assay is null or q.assay_scope = '{}' or e.assay = any (q.assay_scope));

create index queue_by_key on queue (tenant, queue_key, retired_at desc nulls first);

-- Every route into a queue checks the template, so only a queue that took over the key of one that served others can
-- have subjects that it does not serve.
create index queue_former on queue (tenant, queue_key) where retired_at is not null;
create function took_over(q queue) returns boolean language sql stable parallel safe
return exists (
    select from queue former
    where former.tenant = q.tenant and former.queue_key = q.queue_key and former.retired_at is not null
        and not former.subject_template_codes <@ q.subject_template_codes);

create function served(subject_uid bigint, codes text[]) returns boolean language sql stable parallel safe
return (select t.code = any (codes) from subject s join template t on t.uid = s.template where s.uid = subject_uid);

-- How many ACTIVE leases of a subject ran out, how many of them had begun, and when the first did.
create function lapsed_leases(subject_uid bigint, at timestamptz) returns table (lapsed int, begun int, since timestamptz)
language sql stable parallel safe
begin atomic
    select count(*) filter (where a.expires_at <= at)::int, count(a.started_at) filter (where a.expires_at <= at)::int,
        min(a.expires_at) filter (where a.expires_at <= at)
    from attempt a where a.subject = subject_uid and a.lease_status = 'ACTIVE';
end;

-- Where a subject would stand once its lapsed leases were expired, as tenure.model.decisions.expire has it.
create function expired_standing(e execution, q queue, lapsed int, begun int) returns state language sql immutable parallel safe
return case
    when lapsed = 0 or e.state not in ('RUNNING', 'READY') then e.state
    when begun > 0 and e.attempt_count + begun >= coalesce(e.max_attempts_override, q.max_attempts_default) then 'FAILED_TERMINAL'
    when e.state = 'RUNNING' and e.slots_total = 1 then 'FAILED_RETRYABLE'
    else 'READY'
end;

create function exhausted(e execution, q queue, at timestamptz) returns boolean language sql stable parallel safe
return (select expired_standing(e, q, l.lapsed, l.begun) = 'FAILED_TERMINAL' from lapsed_leases(e.uid, at) l);

-- Whether a `claimable` row of the queue is visible in it. Without a sub-select, so that it becomes part of the caller's query.
create function on_offer(e execution, q queue, at timestamptz, taken_over boolean) returns boolean language sql stable parallel safe
return e.eligible_at <= at and e.state = any (q.eligible_states) and in_scope(e, q)
    and (e.slots_total = 1 or not exhausted(e, q, at))
    and (not taken_over or served(e.uid, q.subject_template_codes));

-- What else is visible in a queue, and since when: what the next claim will see to first. Each candidate is looked up by key.
create function unswept(for_tenant bigint, for_queue text, at timestamptz) returns table (uid bigint, since timestamptz)
language sql stable parallel safe set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
begin atomic
    with candidate as materialized (
        select e.uid from execution e
        where e.tenant = for_tenant and e.next_queue_key = for_queue and e.deferred and e.eligible_at <= at
        union
        select a.subject
        from queue claimed_from
        cross join lateral (
            select a.subject from attempt a
            where a.queue = claimed_from.uid and a.lease_status = 'ACTIVE' and a.expires_at <= at offset 0) a
        where claimed_from.tenant = for_tenant and claimed_from.queue_key = for_queue)
    select e.uid, s.since
    from queue q
    cross join candidate c
    join execution e on e.uid = any (array[c.uid])
    cross join lapsed_leases(c.uid, at) l
    cross join lateral (
        select case when e.state = 'RUNNING' and e.slots_total = 1 and l.lapsed > 0 then l.since else e.eligible_at end as since) s
    where q.tenant = for_tenant and q.queue_key = for_queue and q.retired_at is null
        and e.next_queue_key = for_queue and not e.claimable and not e.cancel_requested and e.hold_state <> 'ACTIVE'
        and e.slots_free + l.lapsed > 0 and s.since <= at
        and expired_standing(e, q, l.lapsed, l.begun) = any (q.eligible_states)
        and in_scope(e, q) and (not took_over(q) or served(e.uid, q.subject_template_codes));
end;

-- All that is visible, of every queue: for people at a prompt. Execution order is that of the index `claimable`.
create view visible as
select e.tenant, e.next_queue_key as queue_key, e.uid, euid('SX', e.uid) as euid, e.priority, e.due_at, e.eligible_at as eligible_since, e.created_at
from queue q join execution e on e.tenant = q.tenant and e.next_queue_key = q.queue_key and e.claimable
where q.retired_at is null and on_offer(e, q, tenure.now(), took_over(q))
union all
select e.tenant, e.next_queue_key, e.uid, euid('SX', e.uid), e.priority, e.due_at, u.since, e.created_at
from queue q cross join unswept(q.tenant, q.queue_key, tenure.now()) u join execution e on e.uid = u.uid
where q.retired_at is null;

-- Counts of what went wrong, since ever and lately. Successes are not in it, so that they cost nothing.
create index attempt_unhappy on attempt (queue, record_status, ended_at)
    where record_status in ('EXPIRED', 'FAILED_RETRYABLE', 'FAILED_TERMINAL');

-- Successes of the last minutes. Attempts end roughly in the order of their rows, so that a summary for each few pages will do.
create index attempt_ended on attempt using brin (ended_at) with (pages_per_range = 32, autosummarize = on);
