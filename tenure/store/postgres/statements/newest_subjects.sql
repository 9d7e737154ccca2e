-- Subjects of a tenant by state and queue, newest first, below a uid, of the next `scan` subjects; and how far these reach.
-- The primary key backwards, at most `scan` rows of it: an index by state would make every completion write to it.
with scanned as materialized (
    select e.uid, e.tenant, e.state, e.next_queue_key from tenure.execution e where e.uid < %(before)s::bigint order by e.uid desc limit %(scan)s)
select array(
    select s.uid from scanned s
    where s.tenant = %(tenant)s and (%(states)s::text[] is null or s.state::text = any (%(states)s))
        and (%(queue_key)s::text is null or s.next_queue_key = %(queue_key)s)
    order by s.uid desc limit %(limit)s) as uids,
    (select min(s.uid) from scanned s having count(*) = %(scan)s) as reached
