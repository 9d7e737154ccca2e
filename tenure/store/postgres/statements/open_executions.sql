-- What a node may hold and has to be told of: handed out and not accepted, or not wanted any more.
-- Index `remote_execution_open`, then primary keys.
select to_jsonb(e) as execution, s.*, n.name as node_name
from tenure.remote_execution e
cross join lateral (select s.* from tenure.remote_submission s where s.uid = e.submission offset 0) s
cross join lateral (select n.name from tenure.management_node n where n.uid = s.node offset 0) n
where e.node = %(node)s and e.open and (e.state is null or not e.wanted) and e.tenant = %(tenant)s
order by e.submission, e.number
