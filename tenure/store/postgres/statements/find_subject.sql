-- The subject that carries this external_ref.
-- Index `subject_external_ref`.
select s.uid from tenure.subject s where s.tenant = %(tenant)s and s.external_ref = %(external_ref)s
