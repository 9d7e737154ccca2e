-- Submissions by the subjects that stand for them.
-- Unique key on subject.
select s.*, n.name as node_name
from tenure.remote_submission s
cross join lateral (select n.name from tenure.management_node n where n.uid = s.node offset 0) n
where s.subject = any (%(subjects)s) and s.tenant = %(tenant)s
