-- Submissions of a tenant, newest first, below a uid, of the next `scan` submissions; and how far these reach.
-- Index `remote_submission_recent`, walked backwards; compared as a row, so that no plan walks through those of others by the primary key.
-- An index by projection_state would make every step of every submission write to all indexes of its row.
with scanned as materialized (
    select s.uid, s.workspace_id, s.projection_state from tenure.remote_submission s
    where (s.tenant, s.uid) < (%(tenant)s::bigint, %(before)s::bigint) and (s.tenant, s.uid) > (%(tenant)s::bigint, 0)
    order by s.tenant desc, s.uid desc limit %(scan)s)
select array(
    select s.uid from scanned s
    where (%(workspace_id)s::text is null or s.workspace_id = %(workspace_id)s)
        and (%(projection_state)s::text is null or s.projection_state = %(projection_state)s)
    order by s.uid desc limit %(limit)s) as uids,
    (select min(s.uid) from scanned s having count(*) = %(scan)s) as reached
