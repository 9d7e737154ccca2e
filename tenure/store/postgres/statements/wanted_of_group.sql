-- What waits of a group, in order: its head, and what was held since; whether each is still wanted.
-- Key of `held_event`, from the head on; index `fact_position`, one look-up each.
select f.*, f.state::text as state,
    tenure.wanted(%(subscription)s, %(types)s::text[], %(queues)s::text[], f.thread, f.type, f.queue_key) as wanted
from (
    select %(begin)s::bigint as position
    union all
    (select h.position from tenure.held_event h
        where h.subscription = %(subscription)s and h.group_key = %(group_key)s and h.position > %(begin)s::bigint
        order by h.position limit %(limit)s)) w
cross join lateral (select g.* from tenure.fact g where g.position = w.position and (g.tenant = %(tenant)s) is true offset 0) f
order by f.position limit %(limit)s
