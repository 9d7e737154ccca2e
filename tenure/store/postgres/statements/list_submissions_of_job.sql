-- Submissions of a job, the newest first, keyset-paged by uid.
-- Index `remote_submission_job`, walked backwards.
select s.*, n.name as node_name
from tenure.remote_submission s
cross join lateral (select n.name from tenure.management_node n where n.uid = s.node offset 0) n
where s.tenant = %(tenant)s and s.job_id = %(job_id)s and s.uid < %(before)s
    and (%(workspace_id)s::text is null or s.workspace_id = %(workspace_id)s)
    and (%(node)s::bigint is null or s.node = %(node)s)
    and (%(projection_state)s::text is null or s.projection_state = %(projection_state)s)
order by s.uid desc limit %(limit)s
