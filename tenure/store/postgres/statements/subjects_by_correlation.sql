-- Subjects of a tenant with this correlation id, newest first, below a uid.
-- Index `subject_correlation`.
select s.uid
from tenure.subject s
where s.tenant = %(tenant)s and s.correlation_id = %(correlation_id)s and s.uid < %(before)s::bigint
order by s.uid desc limit %(scan)s
