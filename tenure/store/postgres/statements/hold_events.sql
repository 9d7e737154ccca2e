-- Notes events that the cursor goes past while their group waits.
-- Insert only.
insert into tenure.held_event (subscription, group_key, position, tenant)
select %(subscription)s, h.group_key, h.position, %(tenant)s
from unnest(%(groups)s::text[], %(positions)s::bigint[]) as h(group_key, position)
on conflict do nothing
