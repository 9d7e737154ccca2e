-- What is not held any more of these groups, up to a position of each.
-- Key of `held_event`.
delete from tenure.held_event h
using unnest(%(groups)s::text[], %(ends)s::bigint[]) as r(group_key, position)
where h.subscription = %(subscription)s and h.group_key = r.group_key and h.position <= r.position
