-- Keeps that requests changed nothing.
insert into tenure.refusal (tenant, at, code, action, actor, subject, lease, worker, queue_key, message)
select %(tenant)s, tenure.now(), r.code, r.action, r.actor, r.subject, r.lease, r.worker, r.queue_key, r.message
from jsonb_to_recordset(%(refusals)s::jsonb) as r(code text, action text, actor text, subject bigint, lease bigint, worker bigint, queue_key text, message text)
