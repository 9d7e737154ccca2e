-- The message of that source and id as it was taken in.
-- Index `inbox_pkey`.
select i.content_hash, i.actor, i.received_at from tenure.inbox i
where i.tenant = %(tenant)s and i.source = %(source)s and i.message_id = %(message_id)s
