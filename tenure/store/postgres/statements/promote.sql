-- Makes deferred subjects whose time has come claimable; bookkeeping of an index, no change that a fact would tell.
-- Reads the index `deferred` from its start.
with ripe as materialized (
    select e.uid from tenure.execution e
    where e.tenant = %(tenant)s and e.next_queue_key = %(queue_key)s and e.deferred and e.eligible_at <= tenure.now()
    order by e.eligible_at limit %(limit)s for no key update of e skip locked),
promoted as (
    update tenure.execution e set deferred = false from ripe where e.uid = any (array[ripe.uid]) returning 1)
select count(*) as promoted from promoted
