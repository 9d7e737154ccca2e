-- The metrics of S1 9.1 of queues, in the order asked for: exact, all from one snapshot.
-- Depth reads `claimable` (as a rule nothing but that index) and `deferred`, leases `lease_expiry`, failures `attempt_unhappy`, successes `attempt_ended`.
with clock as materialized (select tenure.now() as now, tenure.now() - make_interval(secs => %(window)s) as since),
lapsed as materialized (
    -- Keys of queues with subjects on offer of which another slot ran out: these may be exhausted, so each has to be looked at.
    select distinct e.next_queue_key as queue_key
    from tenure.queue claimed_from
    cross join clock
    cross join lateral (
        select a.subject from tenure.attempt a
        where a.queue = claimed_from.uid and a.lease_status = 'ACTIVE' and a.expires_at <= clock.now offset 0) a
    cross join lateral (
        select e.next_queue_key from tenure.execution e
        where e.uid = a.subject and e.slots_total > 1 and e.claimable and e.next_queue_key is not null offset 0) e
    where claimed_from.tenant = %(tenant)s),
asked as materialized (
    select q.uid, q.tenant, q.queue_key, k.ordinal,
        q.site_scope = '{}' and q.platform_scope = '{}' and q.assay_scope = '{}'
            and q.eligible_states @> array['READY', 'FAILED_RETRYABLE']::tenure.state[]
            and not tenure.took_over(q) and q.queue_key <> all (array(select l.queue_key from lapsed l)) as open
    from unnest(%(queue_keys)s::text[]) with ordinality as k(queue_key, ordinal)
    join tenure.queue q on q.tenant = %(tenant)s and q.queue_key = k.queue_key and q.retired_at is null),
succeeded as materialized (
    select a.queue, count(*) as n
    from tenure.attempt a
    where a.record_status = 'SUCCEEDED' and a.ended_at > (select since from clock) and a.queue = any (array(select uid from asked))
    group by a.queue)
select a.queue_key, visible.depth,
    extract(epoch from clock.now - visible.first)::float8 as oldest, extract(epoch from clock.now - visible.last)::float8 as newest,
    live.leases as active_leases, failed.expired, failed.retryable, failed.terminal, failed.lately as failed_lately,
    coalesce(succeeded.n, 0) as succeeded_lately, letters.open as dead_letters, held.subjects as held, online.workers,
    extract(epoch from clock.now - online.oldest_beat)::float8 as lag, refused.conflicts, refused.replays
from asked a
cross join clock
left join succeeded on succeeded.queue = a.uid
cross join lateral (
    select coalesce(sum(v.depth), 0)::bigint as depth, min(v.first) as first, max(v.last) as last
    from (
        select o.depth, o.first, o.last from tenure.open_depth(a.tenant, a.queue_key, clock.now) o where a.open
        union all
        select o.depth, o.first, o.last from tenure.scoped_depth(a.uid, clock.now) o where not a.open
        union all
        select count(*), min(u.since), max(u.since) from tenure.unswept(a.tenant, a.queue_key, clock.now) u) v) visible
cross join lateral (
    select count(*) as leases from tenure.attempt t
    where t.queue = a.uid and t.lease_status = 'ACTIVE' and t.expires_at > clock.now) live
cross join lateral (
    select count(*) filter (where t.record_status = 'EXPIRED') as expired,
        count(*) filter (where t.record_status = 'FAILED_RETRYABLE') as retryable,
        count(*) filter (where t.record_status = 'FAILED_TERMINAL') as terminal,
        count(*) filter (where t.record_status <> 'EXPIRED' and t.ended_at > clock.since) as lately
    from tenure.attempt t
    where t.queue = a.uid and t.record_status in ('EXPIRED', 'FAILED_RETRYABLE', 'FAILED_TERMINAL')) failed
cross join lateral (
    select count(*) as open
    from tenure.dead_letter d join tenure.queue filed on filed.uid = d.queue
    where d.tenant = a.tenant and d.resolution_state = 'OPEN' and filed.queue_key = a.queue_key) letters
cross join lateral (
    select count(*) as subjects from tenure.execution e
    where e.tenant = a.tenant and e.next_queue_key = a.queue_key and e.hold_state = 'ACTIVE') held
cross join lateral (
    select count(*) as workers, min(w.heartbeat_at) as oldest_beat
    from tenure.worker w join tenure.queue q on q.uid = a.uid
    where w.tenant = a.tenant and w.status = 'ONLINE' and not w.drain_requested
        and w.heartbeat_at + make_interval(secs => w.heartbeat_ttl_seconds) > clock.now
        and (not q.manual_only or w.worker_type = 'HUMAN_SESSION')
        and (w.queues = '{}' or a.queue_key = any (w.queues))
        and w.capabilities @> q.required_worker_capabilities
        and (q.site_scope = '{}' or w.site_scope && q.site_scope)
        and (q.platform_scope = '{}' or w.platform_scope && q.platform_scope)
        and (q.assay_scope = '{}' or w.assay_scope && q.assay_scope)) online
cross join lateral (
    select count(*) filter (where r.code = 'not_claimable' and r.action = 'claim_queue_item') as conflicts,
        count(*) filter (where r.code = 'idempotent_replay') as replays
    from tenure.refusal r
    where r.tenant = a.tenant and r.queue_key = a.queue_key and r.code in ('not_claimable', 'idempotent_replay')) refused
order by a.ordinal
