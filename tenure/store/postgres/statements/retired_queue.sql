-- The queue that was retired under this idempotency key, whatever bears its queue_key since.
-- Indexes `queue_by_key` and `fact_idempotency`.
select q.*, q.eligible_states::text[] as eligible_states from tenure.queue q
where q.tenant = %(tenant)s and q.queue_key = %(queue_key)s and q.retired_at is not null and exists (
    select 1 from tenure.fact f
    where f.thread = q.uid and f.type = 'queue.retired' and f.idempotency_key = %(key)s) limit 1
