-- Submissions by uid.
-- Primary key look-ups.
select s.*, n.name as node_name
from tenure.remote_submission s
cross join lateral (select n.name from tenure.management_node n where n.uid = s.node offset 0) n
where s.uid = any (%(uids)s) and (%(tenant)s::bigint is null or s.tenant = %(tenant)s)
