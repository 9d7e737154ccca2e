-- Leaves a worker's claim standing for each of its queues, in place of what it left before; nothing for a former incarnation.
-- The worker's row is the lock: what was being taken for it under the former claim is committed when this is done.
-- Takes away what workers left behind that are gone for long.
with w as materialized (
    select uid, tenant from tenure.worker
    where uid = %(worker)s and (tenant = %(tenant)s) is true and incarnation = %(incarnation)s and status <> 'RETIRED' for no key update),
former as (
    delete from tenure.standing_claim s using w where s.worker = w.uid),
abandoned as materialized (
    select s.tenant, s.queue_key, s.spot from tenure.standing_claim s
    where s.tenant = %(tenant)s and s.worker <> %(worker)s and exists (
        select from tenure.worker x
        where x.uid = s.worker and (x.status = 'RETIRED' or x.heartbeat_at < tenure.now() - make_interval(hours => 1, secs => x.heartbeat_ttl_seconds)))
    for update of s skip locked),
cleaned as (
    delete from tenure.standing_claim s using abandoned a
    where s.tenant = a.tenant and s.queue_key = a.queue_key and s.spot = a.spot)
insert into tenure.standing_claim (tenant, queue_key, spot, worker, incarnation, channel, token_hash, actor, ttl_seconds, live_after)
select w.tenant, k.queue_key, %(spot)s, w.uid, %(incarnation)s, %(channel)s, %(token_hash)s, %(actor)s, %(ttl)s, %(live_after)s
from w cross join unnest(%(queue_keys)s::text[]) as k(queue_key)
