-- The events of a subscription between two positions of the ledger, in order.
-- Index `fact_position`, from the one position to the other: `tenant` is compared so that it is no key of any index.
select f.*, f.state::text as state from tenure.fact f
where f.position > %(after)s::bigint and f.position <= %(up_to)s::bigint and (f.tenant = %(tenant)s) is true
    and tenure.wanted(%(subscription)s, %(types)s::text[], %(queues)s::text[], f.thread, f.type, f.queue_key)
order by f.position limit %(limit)s
