-- The submission of an idempotency key.
-- Index `remote_submission_key`.
select s.*, n.name as node_name
from tenure.remote_submission s
cross join lateral (select n.name from tenure.management_node n where n.uid = s.node offset 0) n
where s.tenant = %(tenant)s and s.workspace_id = %(workspace_id)s and s.idempotency_key = %(idempotency_key)s
