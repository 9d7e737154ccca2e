-- Facts that already answered: of the same thread and kind with the same key, or keyless with the same lease.
-- Key and prefix look-ups on the thread.
select i.ordinal - 1 as target, f.*, f.state::text as state
from unnest(%(threads)s::bigint[], %(keys)s::text[], %(leases)s::bigint[], %(types)s::text[]) with ordinality
    as i(thread, key, lease, types, ordinal),
lateral (
    select f.* from tenure.fact f
    where f.thread = i.thread and f.type = any (string_to_array(i.types, ' '))
        and case when i.key is not null then f.idempotency_key = i.key else f.lease = i.lease and f.idempotency_key is null end
    order by f.seq limit 1) f
