-- Locks the active queues of these keys.
select q.*, q.eligible_states::text[] as eligible_states from tenure.queue q
where q.tenant = %(tenant)s and q.queue_key = any (%(keys)s) and q.retired_at is null
order by q.uid for no key update
