-- Submissions of a job, newest first, below a uid, of its next `scan` submissions; and how far these reach.
-- Index `remote_submission_job`, walked backwards.
with scanned as materialized (
    select s.uid, s.workspace_id, s.projection_state, s.node from tenure.remote_submission s
    where s.tenant = %(tenant)s and s.job_id = %(job_id)s and s.uid < %(before)s
    order by s.uid desc limit %(scan)s)
select array(
    select s.uid from scanned s
    where (%(workspace_id)s::text is null or s.workspace_id = %(workspace_id)s)
        and (%(projection_state)s::text is null or s.projection_state = %(projection_state)s)
        and (%(node)s::bigint is null or s.node = %(node)s)
    order by s.uid desc limit %(limit)s) as uids,
    (select min(s.uid) from scanned s having count(*) = %(scan)s) as reached
