-- The data tier of one subject.
-- Primary key.
select s.uid, s.tenant, t.code as template, s.name, s.external_ref, s.properties, s.payload_ref, s.correlation_id, s.created_at
from tenure.subject s join tenure.template t on t.uid = s.template
where s.uid = %(uid)s and s.tenant = %(tenant)s
