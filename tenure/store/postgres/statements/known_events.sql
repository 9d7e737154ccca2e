-- Of these messages, those that were taken in before.
-- Index `inbox_pkey`, one look-up each.
select i.source, i.message_id, i.content_hash
from unnest(%(sources)s::text[], %(ids)s::text[]) as m(source, message_id)
cross join lateral (
    select i.* from tenure.inbox i
    where i.tenant = %(tenant)s and i.source = m.source and i.message_id = m.message_id offset 0) i
