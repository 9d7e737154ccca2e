-- Keeps checkpoints in place of former ones.
-- Primary key look-ups.
insert into tenure.journal_checkpoint (thread, tenant, rev, head, format, state)
select c.thread, r.tenant, c.rev, decode(c.head, 'hex'), c.format, c.state
from jsonb_to_recordset(%(checkpoints)s::jsonb) as c(thread bigint, rev int, head text, format int, state jsonb)
cross join lateral (select r.tenant from tenure.run r where r.uid = c.thread offset 0) r
on conflict (thread) do update set rev = excluded.rev, head = excluded.head, format = excluded.format, state = excluded.state
