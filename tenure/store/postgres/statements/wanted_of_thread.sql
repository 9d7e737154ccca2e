-- The events of a subscription in one thread between two positions, the first included, in order.
-- Primary key of `fact`, within the thread.
select f.*, f.state::text as state, true as wanted from tenure.fact f
where f.thread = %(thread)s and f.seq >= (select g.seq from tenure.fact g where g.position = %(begin)s)
    and f.position <= %(up_to)s::bigint
    and tenure.wanted(%(subscription)s, %(types)s::text[], %(queues)s::text[], f.thread, f.type, f.queue_key)
order by f.seq limit %(limit)s
