-- The events of a subscription between two positions of the ledger, in order; where it groups them, with the group of each.
-- Index `fact_position`, from the one position to the other: `tenant` is compared so that it is no key of any index. The
-- group is what the owner of the thread was made with and never changes, by its key, for those alone that are answered with.
select f.*, f.state::text as state, case when %(grouped)s::boolean then coalesce(
    (select s.correlation_id from tenure.subject s where s.uid = f.thread),
    (select r.correlation_id from tenure.run r where r.uid = f.thread),
    (select r.job_id from tenure.remote_submission r where r.uid = f.thread)) end as group_key
from tenure.fact f
where f.position > %(after)s::bigint and f.position <= %(up_to)s::bigint and (f.tenant = %(tenant)s) is true
    and tenure.wanted(%(subscription)s, %(types)s::text[], %(queues)s::text[], f.thread, f.type, f.queue_key)
order by f.position limit %(limit)s
