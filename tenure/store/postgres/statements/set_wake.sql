-- When something of runs falls due. It follows from their facts, so no fact tells of it.
-- Primary key look-ups.
update tenure.run r set wake_at = i.wake_at
from unnest(%(uids)s::bigint[], %(wakes)s::timestamptz[]) as i(uid, wake_at)
where r.uid = any (array[i.uid])
