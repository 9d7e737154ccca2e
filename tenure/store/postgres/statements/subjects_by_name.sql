-- Subjects of a tenant whose name begins so, newest first, below a uid.
-- A range of the index `subject_name`.
select s.uid
from tenure.subject s
where s.tenant = %(tenant)s and s.name is not null and s.name ~>=~ %(prefix)s::text and s.name ~<~ (%(prefix)s || chr(1114111))
    and s.uid < %(before)s::bigint
order by s.uid desc limit %(scan)s
