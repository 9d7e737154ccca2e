-- Depth and ages at any size, and samples of them over time.

-- What is on offer in a queue that takes whatever is claimable: no scopes, both eligible states, no former queue of its key.
-- All that is asked for stands in the index `claimable`, so no row is looked at once VACUUM has seen its page.
create function open_depth(for_tenant bigint, for_queue text, at timestamptz)
returns table (depth bigint, first timestamptz, last timestamptz)
language sql stable set enable_seqscan = off set enable_bitmapscan = off set max_parallel_workers_per_gather = 0 set jit = off
begin atomic
    select count(*), min(e.eligible_at), max(e.eligible_at)
    from execution e
    where e.tenant = for_tenant and e.next_queue_key = for_queue and e.claimable and e.eligible_at <= at;
end;

-- The same for any queue: each claimable row is looked at.
create function scoped_depth(of_queue bigint, at timestamptz)
returns table (depth bigint, first timestamptz, last timestamptz)
language sql stable set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
begin atomic
    select count(*), min(e.eligible_at), max(e.eligible_at)
    from queue q
    cross join lateral (select took_over(q) as taken_over offset 0) s
    cross join lateral (
        select e.eligible_at from execution e
        where e.tenant = q.tenant and e.next_queue_key = q.queue_key and e.claimable and on_offer(e, q, at, s.taken_over) offset 0) e
    where q.uid = of_queue;
end;

-- The metrics of S1 9.1 as they were at a time, for what a dashboard shows over time and for what need not be newer.
create table queue_sample (
    tenant bigint not null references tenant,
    queue_key text collate "C" not null,
    at timestamptz not null,
    window_seconds float8 not null check (window_seconds > 0),
    queue_depth bigint not null,
    oldest_job_age_seconds float8,
    newest_job_age_seconds float8,
    active_leases bigint not null,
    expired_leases_total bigint not null,
    retryable_failures_total bigint not null,
    terminal_failures_total bigint not null,
    throughput_success_per_minute float8 not null,
    throughput_failure_per_minute float8 not null,
    failure_rate float8 not null,
    dead_letter_count bigint not null,
    held_count bigint not null,
    worker_online_count bigint not null,
    worker_heartbeat_lag_seconds float8,
    claim_conflict_total bigint not null,
    idempotent_replay_total bigint not null,
    primary key (tenant, queue_key, at)
);
create index queue_sample_time on queue_sample (tenant, at);

-- What the HTTP API may do, within its tenant.
insert into api_right (relation, rights) values ('queue_sample', 'select, insert, delete') on conflict (relation) do nothing;
select admit_api();
