-- Submissions to a node, newest first, below a uid, of its next `scan` submissions; and how far these reach.
-- Index `remote_submission_node`, walked backwards; compared as a row, so that no plan walks through those of others by the primary key.
with scanned as materialized (
    select s.uid, s.workspace_id, s.projection_state from tenure.remote_submission s
    where (s.node, s.uid) < (%(node)s::bigint, %(before)s::bigint) and (s.node, s.uid) > (%(node)s::bigint, 0) and s.tenant = %(tenant)s
    order by s.node desc, s.uid desc limit %(scan)s)
select array(
    select s.uid from scanned s
    where (%(workspace_id)s::text is null or s.workspace_id = %(workspace_id)s)
        and (%(projection_state)s::text is null or s.projection_state = %(projection_state)s)
    order by s.uid desc limit %(limit)s) as uids,
    (select min(s.uid) from scanned s having count(*) = %(scan)s) as reached
