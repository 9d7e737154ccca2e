-- Submissions, the newest first, keyset-paged by uid.
-- Index `remote_submission_recent`, walked backwards; compared as a row, so that no plan walks through those of others by the primary key.
select s.*, n.name as node_name
from tenure.remote_submission s
cross join lateral (select n.name from tenure.management_node n where n.uid = s.node offset 0) n
where (s.tenant, s.uid) < (%(tenant)s::bigint, %(before)s::bigint) and (s.tenant, s.uid) > (%(tenant)s::bigint, 0)
    and (%(workspace_id)s::text is null or s.workspace_id = %(workspace_id)s)
    and (%(projection_state)s::text is null or s.projection_state = %(projection_state)s)
order by s.tenant desc, s.uid desc limit %(limit)s
