-- Queues by key (all active ones where no keys are given); of a retired key the latest.
select distinct on (q.queue_key) q.*, q.eligible_states::text[] as eligible_states from tenure.queue q
where q.tenant = %(tenant)s and (%(keys)s::text[] is not null or q.retired_at is null)
    and (%(keys)s::text[] is null or q.queue_key = any (%(keys)s))
order by q.queue_key, q.retired_at desc nulls first
