-- Queues by key (all active ones where no keys are given); of a retired key the latest.
-- Index `queue_by_key`; two branches, of which one is never executed, because `or` would defeat the index.
select distinct on (q.queue_key) q.*, q.eligible_states::text[] as eligible_states
from (
    select q.* from unnest(%(keys)s::text[]) as wanted(queue_key)
    cross join lateral (
        select q.* from tenure.queue q where q.tenant = %(tenant)s and q.queue_key = wanted.queue_key
        order by q.retired_at desc nulls first limit 1) q
    union all
    select q.* from tenure.queue q where %(keys)s::text[] is null and q.tenant = %(tenant)s and q.retired_at is null) q
order by q.queue_key, q.retired_at desc nulls first
