-- Takes a message in, where none of that source and id was before; waits for whoever takes in the same one at this moment.
-- Insert only; index `inbox_pkey`.
insert into tenure.inbox (tenant, source, message_id, content_hash, actor, received_at)
values (%(tenant)s, %(source)s, %(message_id)s, %(content_hash)s, %(actor)s, tenure.now())
on conflict do nothing
returning received_at
